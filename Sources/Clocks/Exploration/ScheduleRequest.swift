import ClocksSearch
import ClocksSupport

/// The parameters of a search, as its caller and the environment give them.
struct ScheduleRequest: Sendable {
  private static let standardCount = 1_000
  private static let standardTime = Duration.seconds(2)
  private static let mostShards = 1_000_000

  var count: ScheduleCount
  var seed: Int?
  var slack: Duration
  /// The name that the test has in every process.
  var testID: String
  var variables = ScheduleVariables.ofThisProcess

  struct Meaning {
    var limits: ScheduleSearch.Limits
    /// The limit of real time.
    var time: Duration?
    /// The schedule to replay in place of a search.
    var token: String?
  }

  struct Problem: Error {
    var description: String
  }

  /// Returns the limits of the search; the variables of the environment take precedence.
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
    case .token(let token): return Meaning(limits: limits, token: token)
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
      return Meaning(limits: limits)
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
      return Meaning(limits: limits, time: asked == nil && count == nil ? Self.standardTime : nil)
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
      throw Problem(description: "`seed:` is a number from 0 to \(Int.max); it is \(seed).")
    }
    return UInt64(seed)
  }

  private func shard() throws(Problem) -> ScheduleSearch.Shard {
    guard let text = variables.shard else { return .whole }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let index = Int(parts[0]), let count = Int(parts[1]),
      (1...Self.mostShards).contains(count), (1...count).contains(index)
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

/// The variables of the environment that concern searches.
struct ScheduleVariables: Sendable {
  var count: String?
  var seed: String?
  var shard: String?
  var folder: String?

  static let ofThisProcess = ScheduleVariables(
    count: Environment.schedules, seed: Environment.seed, shard: Environment.shard,
    folder: Environment.schedulesFolder)
}

/// A folder that keeps the tokens of failures from run to run, with one file for each test.
struct TokenFolder {
  private let folder: String?
  private let path: String

  /// - Parameter folder: The folder, which is created if necessary; `nil` keeps nothing.
  init(_ folder: String?, testID: String) {
    self.folder = folder
    // Two tests can have the same file name.
    let number = String(Mixer.hash(testID), radix: 16)
    path = "\(folder ?? "")/\(testID.fileName)-\(number).txt"
  }

  /// Returns the tokens that can be read, the latest first, and adds their tasks to the tree.
  func tokens(in tree: inout TaskTree) -> [ScheduleToken] {
    guard folder != nil, let text = TextFile.read(path) else { return [] }
    return text.split(separator: "\n").reversed().compactMap {
      try? ScheduleToken(String($0), &tree)
    }
  }

  /// Adds a token; writes a message to standard error if that fails.
  func add(_ token: String) {
    guard let folder else { return }
    let known = TextFile.read(path)?.split(separator: "\n").map(String.init) ?? []
    guard !known.contains(token) else { return }
    do {
      try TextFile.makeFolder(folder)
      try TextFile.write((known + [token]).joined(separator: "\n") + "\n", to: path)
    } catch {
      Terminal.writeLine("A token is not kept for the next time: \(error)")
    }
  }
}
