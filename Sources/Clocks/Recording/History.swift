/// What happened in a test: recorded events, put together to the lives of its tasks.
///
/// Tasks are named by their places in `tasks`, in which each comes after the one that created it.
struct History: Sendable {
  /// A point in what happened: the time, and which job it is in, counted from the first one.
  struct Moment: Comparable, Sendable {
    var time: Duration
    var job: Int

    static func < (lhs: Self, rhs: Self) -> Bool {
      (lhs.time, lhs.job) < (rhs.time, rhs.job)
    }
  }

  struct Task: Sendable {
    var id: UInt64
    /// The name that it was given.
    var name: String?
    var isRoot = false
    var parent: Int?
    /// Its number among those without a name, in the order in which they appear.
    var number = 0
    var first: Moment
    var last: Moment
  }

  /// A job, or a piece of one that is known to be a task's.
  struct Job: Sendable {
    var task: Int
    var at: Moment
    /// The place of its actor in `actors`; `nil` for none.
    var actor: Int?
  }

  struct Sleep: Sendable {
    enum End: Sendable {
      case woken
      case cancelled
      case pending
    }
    var task: Int
    var begin: Moment
    var end: Moment
    var deadline: Duration?
    var how: End
  }

  /// A task that was where its jobs are not seen.
  struct Absence: Sendable {
    var task: Int
    var begin: Moment
    var end: Moment
  }

  /// A task did something to another one.
  struct Link: Sendable {
    enum Kind: Sendable {
      case created
      case resumed
      case cancelled
    }
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

  /// A line for a reader.
  struct Step: Sendable {
    enum Kind: Sendable {
      case created
      case resumed
      case runs(actor: Int?)
      case sleeps(until: Duration?)
      case wakes
      case isCancelled
      case goesAway
      case comesBack
      case mark(String)
      case fails
    }
    var time: Duration
    var task: Int?
    /// The task that did it to the other.
    var by: Int?
    var kind: Kind
  }

  var tasks: [Task] = []
  var jobs: [Job] = []
  var sleeps: [Sleep] = []
  var absences: [Absence] = []
  var links: [Link] = []
  var marks: [Mark] = []
  /// The latest steps.
  var steps: [Step] = []
  /// The number of steps before those.
  var earlierSteps = 0
  var actors: [String] = []
  /// The task that runs at the end; the test itself if that is not known.
  var running: Int?
  var start: Duration = .zero
  var end: Moment
  /// The number of events that were recorded, and of those that are not in here.
  var eventCount = 0
  var missingEvents = 0
}

extension History.Task {
  /// What the task is called in a picture, which is the same in each run.
  var title: String { name ?? (isRoot ? "test" : "task \(number)") }

  /// What the task is called beside a failure, where it may be mentioned by its number.
  var label: String { name ?? (isRoot ? "test" : "#\(id)") }
}
