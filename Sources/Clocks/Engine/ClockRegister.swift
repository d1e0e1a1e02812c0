/// The timelines of a test's clocks, but for that of a scope.
struct ClockRegister {
  /// Each timeline, with the number of clocks that there were before it.
  private var timelines: [ObjectIdentifier: (number: Int, timeline: any SleepHolder)] = [:]
  private var nextNumber = 0

  mutating func add(_ timeline: any SleepHolder) {
    timelines[ObjectIdentifier(timeline)] = (nextNumber, timeline)
    nextNumber += 1
  }

  /// Takes out a timeline; whoever gets it may be the last to know it.
  mutating func remove(_ timeline: any SleepHolder) -> (any SleepHolder)? {
    timelines.removeValue(forKey: ObjectIdentifier(timeline))?.timeline
  }

  /// The timelines in the order in which their clocks were made. O(n log n) with n clocks.
  var all: [any SleepHolder] {
    timelines.values.sorted { $0.number < $1.number }.map(\.timeline)
  }
}
