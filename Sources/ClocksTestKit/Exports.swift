// A file with `@Test(.virtualTime)` needs `VirtualTime.current`. Only this name is exported: `TestClock`
// would be ambiguous in a file that imports another package with such a name.
@_exported import class Clocks.VirtualTime
