/// What somebody wants from a scheduler when it is idle: to hear of it, or that time moves.
///
/// The scheduler asks for a step, does what the step says, runs until it is idle again, and asks
/// for the next, until the last.
protocol IdleRequest: AnyObject {
  /// The next step. Called with the scheduler's lock held.
  func step() -> IdleStep

  /// The last step, because the test never comes to rest. Called with the scheduler's lock held.
  func abandon(_ reason: Runaway) -> IdleStep
}

/// Somebody who wants to look at the next instant at which something happens, whoever moves time
/// there.
protocol Follower: IdleRequest {
  /// Whether it must look before time moves on: because time has moved since it last did, or
  /// because of `mustLook`. Called with the scheduler's lock held.
  var isBehind: Bool { get }

  /// Whether there is another reason to look: its task has been cancelled, or something has come
  /// from outside. The scheduler's lock guards it.
  var mustLook: Bool { get set }

  /// The scheduler's number of arrivals from outside before it last looked.
  var knownArrivals: UInt64 { get }

  /// Whether time moves for it only when it moves by itself, where it does.
  var isPaced: Bool { get }
}

/// Moves time when a scheduler is idle and nobody asks for it.
protocol Pacemaker: AnyObject, Sendable {
  /// Whether it moves time at all. Called with the scheduler's lock held.
  var movesTime: Bool { get }

  /// Whether `step` might return a step, even if there is no follower. Called with the scheduler's
  /// lock held.
  var wantsToMove: Bool { get }

  /// The next step, or `nil` to rest. Called with the scheduler's lock held, when it is idle.
  func step(_ scheduler: Scheduler) -> IdleStep?

  /// The test never comes to rest, because of `culprit` if it is a task's, and nobody asked for
  /// anything. Called with the scheduler's lock held.
  func abandon(_ reason: Runaway, _ culprit: RuntimeDoor.TaskReference?)
}

/// Takes over sleeps on the runtime's own clocks, which nobody injected.
protocol RuntimeSleeps: AnyObject, Sendable {
  /// Takes the job that is to wake `task`, which is the current one, after `delay`; or that is
  /// `task` itself.
  func sleep(
    _ task: RuntimeDoor.TaskReference, _ job: UnownedJob, for delay: Duration,
    on clock: ClockKind,
    _ scheduler: Scheduler)

  /// A task has become ready; if it slept, then its sleep is over, and this is its job. Called with
  /// the scheduler's lock held.
  func taskBecameReady(_ id: UInt64) -> UnownedJob?

  /// The job has ended in which a sleep began. Returns tasks to let go of. Called with the
  /// scheduler's lock held.
  func jobHasEnded() -> [RuntimeDoor.TaskReference]
}

/// How much may happen before a test counts as one that never comes to rest.
struct RunawayLimits: Sendable {
  /// The number of jobs without a wake.
  var jobs = 10_000_000
  /// The number of wakes in one request, or on end if nobody asks for anything.
  var wakes = 10_000_000
}

/// Why a test counts as one that never comes to rest.
enum Runaway: Sendable {
  case jobs(Int, task: UInt64 = 0)
  case wakes(Int)

  var description: String {
    switch self {
    case .jobs(let count, let task):
      """
      \(count) jobs have run without time moving, the last one of \
      \(task == 0 ? "an actor's queue" : "task #\(task)"). A task that yields in an endless loop \
      never comes to rest: let it sleep, or cancel it.
      """
    case .wakes(let count):
      """
      \(count) sleeps have woken. A task that sleeps in an endless loop never ends by itself: \
      cancel it, or advance by less.
      """
    }
  }
}

/// One thing that an idle scheduler does.
enum IdleStep {
  /// Wakes a sleep, whose deadline is now.
  case wake(UnsafeContinuation<Void, any Error>, isOwn: Bool)
  /// Runs the job with which the runtime wakes a sleep, whose deadline is now.
  case run(UnownedJob)
  /// Tells whoever made the request that it is fulfilled.
  case finish(UnsafeContinuation<Void, Never>, isOwn: Bool)
  /// Cancels tasks of the scheduler's.
  case cancel([RuntimeDoor.TaskReference])
}

/// Requests in order of arrival.
///
/// There are rarely more than a few; removing the first is amortized O(1) all the same.
struct RequestQueue {
  private var requests: [any IdleRequest] = []
  private var head = 0

  var isEmpty: Bool { head == requests.count }
  var first: (any IdleRequest)? { isEmpty ? nil : requests[head] }

  mutating func append(_ request: any IdleRequest) {
    requests.append(request)
  }

  mutating func removeFirst() {
    head += 1
    if head == requests.count {
      requests.removeAll(keepingCapacity: requests.count < 16)
      head = 0
    } else if head >= 32, head * 2 >= requests.count {
      requests.removeFirst(head)
      head = 0
    }
  }
}
