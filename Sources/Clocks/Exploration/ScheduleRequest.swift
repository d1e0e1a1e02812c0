import ClocksSupport

/// Which schedules of a test are run: how many, or of what kind.
public struct ScheduleCount: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    /// As many as there are, up to a number; the default one has also an end in time.
    case upTo(Int?)
    case exhaustive(Int)
    case token(String)
  }

  let kind: Kind

  /// Every schedule that differs from first in, first out by up to so many reversals of two steps that
  /// touch the same actor, however many there are.
  ///
  /// - Parameter reversals: The number of reversals, 1 or more.
  public static func exhaustive(reversals: Int) -> Self { Self(kind: .exhaustive(reversals)) }

  /// Up to `count` schedules.
  public static func upTo(_ count: Int) -> Self { Self(kind: .upTo(count)) }

  /// Up to 1,000 schedules, for up to two seconds of real time.
  public static let standard = Self(kind: .upTo(nil))

  /// The schedule that a failure has printed, and no other.
  public static func schedule(_ token: String) -> Self { Self(kind: .token(token)) }
}

/// What a search was asked for, before it is known whether that can be.
struct ScheduleRequest: Sendable {
  /// The number of schedules that are tried if nothing is said.
  static let standardCount = 1_000
  /// And for how long.
  static let standardTime = Duration.seconds(2)
  /// So many processes may share a search.
  static let mostShards = 1_000_000

  var count: ScheduleCount
  var seed: Int?
  var slack: Duration
  /// What names the test in every process.
  var testID: String
  var variables = ScheduleVariables.ofThisProcess

  /// What a request means: the schedules to try, and how long.
  struct Meaning {
    var limits: ScheduleSearch.Limits
    var time: Duration?
    var token: String?
  }

  /// What is wrong with a request.
  struct Problem: Error {
    var description: String
  }

  /// What the request means, with what the environment says.
  func meaning() throws(Problem) -> Meaning {
    if slack < .zero {
      throw Problem(
        description: """
          `slack:` is how late a sleep may wake, which is not negative; it is \(slack). Leave it out \
          for sleeps that are on time.
          """)
    }
    var limits = ScheduleSearch.Limits(count: Self.standardCount, seed: try seedOfSearch())
    limits.shard = try shard()
    switch count.kind {
    case .token(let token): return Meaning(limits: limits, time: nil, token: token)
    case .exhaustive(let reversals):
      guard reversals > 0 else {
        throw Problem(
          description: """
            `.exhaustive(reversals:)` expects 1 reversal or more; it is \(reversals). For first in, first \
            out alone use `.virtualTime`.
            """)
      }
      limits.count = .max
      limits.reversals = reversals
      return Meaning(limits: limits, time: nil, token: nil)
    case .upTo(let count):
      if let count, count < 1 {
        throw Problem(
          description: """
            The number of schedules is 1 or more; it is \(count). To run the test once, in virtual time, \
            use `.virtualTime`.
            """)
      }
      let asked = try countOfEnvironment()
      limits.count = asked ?? count ?? Self.standardCount
      return Meaning(
        limits: limits, time: asked == nil && count == nil ? Self.standardTime : nil, token: nil)
    }
  }

  private func countOfEnvironment() throws(Problem) -> Int? {
    guard let text = variables.count else { return nil }
    guard let count = Int(text), count > 0 else {
      throw Problem(
        description: """
          CLOCKS_SCHEDULES is a number of schedules, 1 or more, for example 100000; it is "\(text)".
          """)
    }
    return count
  }

  private func seedOfSearch() throws(Problem) -> UInt64 {
    if let text = variables.seed {
      if text == "random" { return UInt64.random(in: .min ... .max) }
      guard let seed = Int(text), seed >= 0 else {
        throw Problem(
          description: """
            CLOCKS_SEED is a number from 0 to \(Int.max), or `random`; it is "\(text)".
            """)
      }
      return UInt64(seed)
    }
    guard let seed else { return Mixer.hash(testID) }
    guard seed >= 0 else {
      throw Problem(
        description: "`seed:` is a number from 0 to \(Int.max); it is \(seed).")
    }
    return UInt64(seed)
  }

  private func shard() throws(Problem) -> ScheduleSearch.Shard {
    guard let text = variables.shard else { return .whole }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let index = Int(parts[0]), let count = Int(parts[1]),
      (1...Self.mostShards).contains(count),
      (1...count).contains(index)
    else {
      throw Problem(
        description: """
          CLOCKS_SHARD names one of several processes that share a search, for example 3/16, from 1/16 \
          to 16/16; it is "\(text)".
          """)
    }
    return .init(index: index - 1, count: count)
  }
}

/// What the environment says about searches.
struct ScheduleVariables: Sendable {
  var count: String?
  var seed: String?
  var shard: String?
  var folder: String?

  static let ofThisProcess = ScheduleVariables(
    count: Environment.schedules, seed: Environment.seed, shard: Environment.shard,
    folder: Environment.schedulesFolder)
}
