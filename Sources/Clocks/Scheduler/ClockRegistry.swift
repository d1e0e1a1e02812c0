/// The virtual clocks of a test's clocks, but for that of a scope.
struct ClockRegistry {
  /// Each virtual clock, with the number of clocks that there were before it.
  private var virtualClocks: [ObjectIdentifier: (number: Int, virtualClock: any SleepSource)] = [:]
  private var nextNumber = 0

  mutating func add(_ virtualClock: any SleepSource) {
    virtualClocks[ObjectIdentifier(virtualClock)] = (nextNumber, virtualClock)
    nextNumber += 1
  }

  /// Takes out a virtual clock; whoever gets it may be the last to know it.
  mutating func remove(_ virtualClock: any SleepSource) -> (any SleepSource)? {
    virtualClocks.removeValue(forKey: ObjectIdentifier(virtualClock))?.virtualClock
  }

  /// The virtual clocks in the order in which their clocks were made. O(n log n) with n clocks.
  var all: [any SleepSource] {
    virtualClocks.values.sorted { $0.number < $1.number }.map(\.virtualClock)
  }
}
