// Whoever writes `@Test(.virtualTime)` asks for `VirtualTime.current` next. Only this name is passed on: with
// `TestClock`, too, a file that also sees another package's would not know which one is meant.
@_exported import class Clocks.VirtualTime
