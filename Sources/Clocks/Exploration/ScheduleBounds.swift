import ClocksSearch

/// The decisions that a search makes besides the order of jobs and the choices of the test itself.
public struct ExploredSources: OptionSet, Hashable, Sendable {
  /// The raw bits.
  public let rawValue: Int

  /// Creates a set from its raw bits.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// The numbers of the system generator: `Int.random(in:)`, `Bool.random()`, `shuffled()`.
  ///
  /// Without this option the numbers are equal in all runs of a search. With it, each number is a choice among 64
  /// values: the number without this option, 16 values that are spread evenly over the range, and 47 others. All values
  /// of a range of up to 16 are among them. A search never claims that it has tried all numbers.
  public static let randomness = Self(rawValue: 1)
}

package typealias ScheduleBounds = Bounds

extension ScheduleBounds {
  package init(faults: Int, stalls: Int, upTo: Duration, explores: ExploredSources) {
    self.init()
    self.faults = faults
    self.stalls = stalls
    stallTime = upTo
    exploresRandomness = explores.contains(.randomness)
  }

  func checked(for count: ScheduleCount) throws(ScheduleRequest.Problem) -> Self {
    if faults < 0 {
      throw .init(
        description: """
          `faults:` says how many faults may strike in one schedule, and cannot be negative; it is \(faults). Leave \
          it out if none may strike.
          """)
    }
    if stalls < 0 {
      throw .init(
        description: """
          `stalls:` says how often time may pass in one schedule while a job is under way, and cannot be negative; \
          it is \(stalls). Leave it out if jobs are to take no time.
          """)
    }
    if stalls > 0 ? stallTime <= .zero : stallTime != .zero {
      throw .init(
        description: """
          `stalls:` and `upTo:` belong together, and must be positive: they say how often time may pass while a job \
          is under way, and how much time at most. They are \(stalls) and \(stallTime). An example is \
          `stalls: 1, upTo: .seconds(1)`.
          """)
    }
    if case .exhaustive = count.kind, stalls > 0 || exploresRandomness {
      throw .init(
        description: """
          `.exhaustive(reversals:)` cannot try all stalls or all random numbers. Use a number of schedules with \
          `stalls:` and `explores:`.
          """)
    }
    return self
  }
}
