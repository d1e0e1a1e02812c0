public import Clocks

/// Code that uses the other package's module, and never heard of ours.
public let clockOfTheApp = TestClock()
