public import Clocks

/// A clock of the other package. This target does not depend on swift-test-clocks.
public let clockOfTheApp = TestClock()
