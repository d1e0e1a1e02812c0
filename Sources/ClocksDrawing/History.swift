import ClocksSupport

/// An entry of a recording, in 40 bytes. Tasks are given by their ids; 0 stands for no task.
///
/// Public, because the compiler does not inline package functions across modules. The initializer is
/// transparent, so that a debug build does not call a function for it.
@frozen public struct RecordedEvent: Equatable, Sendable {
  @frozen public enum Kind: Sendable {
    case created, enqueued, began, ended, slept, woken, cancelled, timeMoved
    case becameExternal, returned, mark
  }

  public var kind: Kind
  /// The index of the actor on which the event happened, plus 1; 0 if it is not known.
  public var actor: UInt16
  /// Whether `time` is known.
  public var hasTime: Bool
  public var task: UInt64
  /// The task that caused the event; for a mark, the number of its text.
  public var other: UInt64
  /// The deadline of a sleep, or the instant to which time moved.
  public var time: Duration

  @_transparent
  public init(
    _ kind: Kind, actor: UInt16 = 0, task: UInt64 = 0, other: UInt64 = 0, time: Duration? = nil
  ) {
    self.kind = kind
    self.actor = actor
    self.task = task
    self.other = other
    if let time {
      hasTime = true
      self.time = time
    } else {
      hasTime = false
      self.time = .zero
    }
  }
}

package struct RecordingContext: Sendable {
  package var start: Duration
  /// The task that runs the test itself; 0 if it is not known.
  package var root: UInt64 = 0
  package var names: [UInt64: String] = [:]
  package var marks: [UInt64: String] = [:]
  package var actors: [String] = []

  package init(start: Duration) { self.start = start }
}

/// The events of a test, in the form that text and pictures need.
///
/// A task is identified by its index in `tasks`. It comes there after the task that created it.
package struct History: Sendable {
  /// A point in the history: an instant, and the number of the job that runs.
  struct Moment: Comparable, Sendable {
    var time: Duration
    var job: Int

    static func < (lhs: Self, rhs: Self) -> Bool { (lhs.time, lhs.job) < (rhs.time, rhs.job) }
  }

  struct Task: Sendable {
    var id: UInt64
    var name: String?
    var isRoot = false
    var parent: Int?
    /// The number among the tasks without a name, in the order of their first events.
    var number = 0
    var first: Moment
    var last: Moment

    /// The task's name in a picture, which is the same in each run.
    var title: String { name ?? (isRoot ? "test" : "task \(number)") }

    /// The task's name beside a failure, whose text may mention the task by its number.
    var label: String { name ?? (isRoot ? "test" : "#\(id)") }
  }

  /// A job, or the part of an actor drain that is known to run one task.
  struct Job: Sendable {
    var task: Int
    var at: Moment
    /// An index in `actors`; `nil` for no actor.
    var actor: Int?
  }

  /// A time during which a task slept, or was external, so that its jobs were not seen.
  struct Span: Sendable {
    /// How a sleep ended, if it has ended. `external` is not a sleep.
    enum Kind: Sendable { case woken, cancelled, pending, external }

    var task: Int
    var begin: Moment
    var end: Moment
    var deadline: Duration?
    var kind: Kind
  }

  struct Link: Sendable {
    enum Kind: Sendable { case created, resumed, cancelled }

    var from: Int
    var to: Int
    var at: Moment
    var kind: Kind
  }

  struct Mark: Sendable {
    var task: Int?
    var at: Moment
    var text: String
  }

  /// A line of the history as text.
  struct Step: Sendable {
    enum Kind: Sendable {
      case wakes, becomesExternal, returns, fails
      case effect(Link.Kind)
      case runs(actor: Int?)
      case sleeps(until: Duration?)
      case mark(String)

      var deadline: Duration? {
        if case .sleeps(let deadline) = self { deadline } else { nil }
      }
    }

    var time: Duration
    var task: Int?
    /// The task that caused the step.
    var by: Int?
    var kind: Kind
  }

  var tasks: [Task] = []
  var jobs: [Job] = []
  var spans: [Span] = []
  var links: [Link] = []
  var marks: [Mark] = []
  var steps: [Step] = []
  var actors: [String] = []
  /// The task that runs at the end; the test itself if that is not known.
  var running: Int?
  var start: Duration
  var end: Moment
  var eventCount = 0
  /// The number of recorded events that this history does not contain.
  var missingEvents = 0
}

extension History {
  /// The number of lines of the history as text.
  package var stepCount: Int { steps.count }

  /// Adds the failure that is being recorded, in the lane of the task that runs.
  package mutating func addFailure() {
    steps.append(Step(time: end.time, task: running, by: nil, kind: .fails))
  }

  /// Returns the last steps as lines of text: a lane for each task, virtual time on the left.
  package func lanes(width: Int = 100, limit: Int = 40) -> [String] {
    let shown = steps.suffix(max(limit, 3))
    let times = InstantTexts(shown.flatMap { [$0.time, $0.kind.deadline].compactMap(\.self) })
    var table = LaneTable(lanes: tasks.map(\.label), rows: shown.map { row($0, times) })
    table.hiddenRows = missingEvents + steps.count - shown.count
    return table.lines(width: width, limit: limit)
  }

  private func row(_ step: Step, _ times: InstantTexts) -> LaneTable.Row {
    let (time, words) = (times[step.time], words(step.kind, times))
    guard let task = step.task else { return .init(time: time, remark: words) }
    let other = step.by.flatMap { $0 == task ? nil : $0 }
    return .init(time: time, [task: words], arrow: other.map { ($0, task) })
  }

  private func words(_ kind: Step.Kind, _ times: InstantTexts) -> String {
    switch kind {
    case .effect(let kind): "\(kind)"
    case .runs(let actor): actor.map { "runs on \(actors[$0])" } ?? "runs"
    case .sleeps(let deadline): deadline.map { "sleeps until \(times[$0])" } ?? "sleeps"
    case .wakes: "wakes"
    case .becomesExternal: "runs externally"
    case .returns: "returns"
    case .mark(let text): "● \(text)"
    case .fails: "✘ the failure"
    }
  }
}
