import ClocksSearch
import ClocksSupport

/// The results of the searches of this process: for each test, a file with one JSON object per line and search.
///
/// `clocks-everywhere merge` makes one page from the files of all shards.
enum SearchReports {
  struct Search: Sendable {
    /// The arguments of the test case; empty if it has none.
    var testCase = ""
    /// `passed`, `failed`, `diverged` or `crashed`.
    var result = "passed"
    var schedules = 0
    var coverage = Coverage()
    var newClasses = 0
    /// Whether this shard has tried all orders that it had to try.
    var isComplete = false
    var seconds = 0.0
    /// The number of the schedule that fails, the text of the failure, and the schedule's token.
    var failure: (schedule: Int, text: String, token: String)?
    /// The arguments that a replay needs besides the token.
    var arguments = ""

    init() {}

    init(_ crash: Exploration.Crash) {
      result = "crashed"
      schedules = crash.number
      failure = (crash.number, crash.text, crash.token)
    }

    mutating func add(_ search: ScheduleSearch, after start: RealTime) {
      schedules = search.tried
      coverage = search.coverage
      newClasses = search.newClasses
      isComplete = search.end == .allOrders
      seconds = Double(start.nanosecondsSince) / 1e9
    }

    mutating func add(_ outcome: Exploration.Outcome) {
      switch outcome {
      case .passed, .skipped: break
      case .failed(let found):
        (result, isComplete) = ("failed", false)
        failure = (found.number, found.finding.text, found.token)
      case .diverged(let divergence):
        (result, isComplete) = ("diverged", false)
        failure = (schedules, Explanation.notDeterministic(divergence.description), "")
      }
    }

    /// Adds the failure of a run that was recorded after the search passed.
    mutating func addRecordedRun(result: String, _ text: String) {
      (self.result, isComplete) = (result, false)
      // The recorded run has the order of the first schedule.
      failure = (1, text, "")
    }

    fileprivate var json: JSONValue {
      var fields: [(String, JSONValue)] = [
        ("result", .text(result)), ("schedules", .integer(schedules)),
        ("orders", .integer(coverage.orders.count)), ("classes", .integer(coverage.classes.count)),
        ("newClasses", .integer(newClasses)), ("isComplete", .flag(isComplete)),
        ("seconds", .number(seconds)),
        ("orderSketch", .texts(Coverage.sketch(coverage.orders))),
        ("classSketch", .texts(Coverage.sketch(coverage.classes))),
      ]
      if !testCase.isEmpty { fields.append(("testCase", .text(testCase))) }
      if let failure {
        var values: [(String, JSONValue)] = [
          ("schedule", .integer(failure.schedule)), ("text", .text(failure.text)),
          ("token", .text(failure.token)),
        ]
        if !arguments.isEmpty { values.append(("arguments", .text(arguments))) }
        fields.append(("failure", .object(values)))
      }
      return .object(fields)
    }
  }

  private static let version = 2

  /// Guards the variable below. Rank `leaf`.
  private static let lock = Lock(.leaf)
  /// The paths of the files that this process has begun. Guarded by the lock.
  nonisolated(unsafe) private static var begun: Set<String> = []

  /// Adds a search to the file of its test; writes a message to standard error if that fails. Thread-safe.
  ///
  /// The first search replaces the file that another process may have left.
  static func add(
    _ search: Search, of testID: String, _ shard: ScheduleSearch.Shard, to folder: String
  ) {
    let file = TokenFolder.fileName(of: testID)
    let path = "\(folder)/\(file).\(shard.index + 1)-of-\(shard.count).jsonl"
    let report = JSONValue.object([
      ("version", .integer(version)), ("test", .text(testID)),
      ("shard", .integer(shard.index + 1)), ("shards", .integer(shard.count)),
      ("date", .integer(time(nil))), ("search", search.json),
    ])
    let line = report.json + "\n"
    do {
      try TextFile.makeFolder(folder)
      try lock.withLock {
        if begun.contains(path) { return try TextFile.append(line, to: path) }
        try TextFile.write(line, to: path)
        begun.insert(path)
      }
    } catch {
      Terminal.writeLine("A report of a search is not written: \(error)")
    }
  }
}
