/// The reference model: runs a program in the simplest way that follows the semantics.
///
/// The model has one queue of ready jobs (first in, first out), a list of sleeps, a list of requests, and the
/// time. It shares no code with the clocks. The tests compare its log with that of a real run.
final class ModelMachine {
  /// A task, which is a list of instructions and how far it has come.
  final class Task {
    let number: Int
    let parent: Group?
    var instructions: [ModelInstruction]
    var position = 0
    /// Where it runs or continues.
    var place: ModelPlace
    var isCancelled = false
    /// The result of the last operation.
    var result = 0
    /// The sleep that it is about to begin.
    var announced: Sleep?
    /// Whether its sleep on the runtime's clock is over, although it has not run since.
    var isAwake = false
    /// What is cancelled with the task; what was added last is cancelled first.
    var cancellables: [Cancellable] = []
    /// Tasks that wait for its end. The runtime resumes the last one first.
    var waiters: [Task] = []
    var isOver = false

    init(
      _ number: Int, _ instructions: [ModelInstruction], on place: ModelPlace, parent: Group? = nil
    ) {
      self.number = number
      self.instructions = instructions
      self.place = place
      self.parent = parent
    }
  }

  /// A task group.
  final class Group {
    let owner: Task
    var children: [Task] = []
    /// The children that the owner has not heard of yet: those that run, and those that have ended.
    var running = 0
    var ended = 0
    var ownerWaits = false

    init(owner: Task) { self.owner = owner }
  }

  enum Cancellable {
    case sleep
    case runtimeSleep
    case stream(Int)
    case group(Group)
  }

  private enum Job {
    /// A part of a task, up to where it is suspended.
    case task(Task)
    /// An actor works off its queue.
    case actor(Int)
    /// The anonymous job with which a task yields.
    case yield(Task)
    /// The only job of the task that the runtime makes for one of its sleeps, to wake the sleeper;
    /// `nil` if that was cancelled.
    case alarm(Task?, number: Int)
  }

  private struct Place {
    enum State { case idle, scheduled, running }
    var state = State.idle
    var queue: [Task] = []
  }

  private struct Stream {
    var elements: [Int] = []
    var isFinished = false
    var receivers: [Task] = []
  }

  struct Sleep {
    var deadline: Int
    var number: Int
    var task: Task
    /// Whether the task sleeps on the runtime's own clock, which wakes it with a job of its own.
    var isOnRuntime = false
  }

  private struct Request {
    enum Kind {
      case advance(Int)
      case advanceTo(Int)
      case nextSleep, run
    }
    var kind: Kind
    var task: Task
    var target: Int?
    var hasBegun = false
  }

  private var now = 0
  private var ready: [Job] = []
  private var firstReady = 0
  private var sleeps: [Sleep] = []
  private var nextSleepNumber = 0
  private var settles: [Task] = []
  private var requests: [Request] = []
  private var places = (0..<Program.places).map { _ in Place() }
  private var streams = (0..<Program.streams).map { _ in Stream() }
  private var tasks: [Int: Task] = [:]
  private var unfinished = 0
  /// The actor that the current thread occupies; `main` or `generic` if it occupies none.
  private var active = ModelPlace.generic
  private let isScope: Bool
  private let jumps: Bool

  private var events: [Event] = []
  private var jobs: [String] = []
  private var appearances: [Int: Int] = [:]

  init(in setting: Program.Setting) {
    isScope = setting != .clock
    jumps = setting == .jumpingScope
  }

  func run(_ program: Program) -> ProgramLog {
    go(Task(0, ModelInstruction.root(program), on: .generic))
    leaveActiveActor()
    while true {
      if firstReady < ready.count {
        let job = ready[firstReady]
        firstReady += 1
        run(job)
      } else if !settles.isEmpty {
        resume(settles.removeFirst())
      } else if !requests.isEmpty {
        step()
      } else if jumps, let sleep = removeEarliestSleep(by: nil) {
        wake(sleep)
      } else {
        return ProgramLog(events: events, jobs: jobs)
      }
    }
  }

  // MARK: - Time

  /// Carries out a step of the oldest request.
  private func step() {
    if !requests[0].hasBegun {
      requests[0].hasBegun = true
      requests[0].target =
        switch requests[0].kind {
        case .advance(let seconds): now + seconds
        case .advanceTo(let deadline): deadline
        case .nextSleep: sleeps.map(\.deadline).min()
        case .run: nil
        }
    }
    let request = requests[0]
    var isRun = false
    if case .run = request.kind { isRun = true }
    if isRun || request.target != nil, let sleep = removeEarliestSleep(by: request.target) {
      wake(sleep)
      return
    }
    if let target = request.target { now = max(now, target) }
    if case .nextSleep = request.kind { request.task.result = request.target ?? Event.nothing }
    requests.removeFirst()
    resume(request.task)
  }

  private func removeEarliestSleep(by target: Int?) -> Sleep? {
    let earliest = sleeps.indices.min {
      (sleeps[$0].deadline, sleeps[$0].number) < (sleeps[$1].deadline, sleeps[$1].number)
    }
    guard let earliest, target.map({ sleeps[earliest].deadline <= $0 }) ?? true else { return nil }
    return sleeps.remove(at: earliest)
  }

  private func wake(_ sleep: Sleep) {
    now = sleep.deadline
    sleep.task.result = 0
    if sleep.isOnRuntime {
      sleep.task.isAwake = true
      note(alarm: sleep.number)
    }
    resume(sleep.task)
  }

  // MARK: - Jobs

  private func run(_ job: Job) {
    switch job {
    case .task(let task):
      note(task.number, on: task.place)
      active = task.place
      go(task)
      leaveActiveActor()
    case .yield(let task):
      note(nil, on: .generic)
      resume(task)
    case .alarm(let task, let number):
      note(alarm: number)
      if let task, !task.isAwake {
        task.isAwake = true
        resume(task)
      }
    case .actor(let number):
      note(nil, on: .generic)
      places[number].state = .running
      active = .actor(number)
      // The thread works for whatever actor the last task has left it with.
      while case .actor(let current) = active {
        guard !places[current].queue.isEmpty else {
          places[current].state = .idle
          break
        }
        go(places[current].queue.removeFirst())
      }
    }
    active = .generic
  }

  private func note(_ task: Int?, on place: ModelPlace) {
    var appearance = 0
    if let task {
      appearance = appearances[task] ?? appearances.count + 1
      appearances[task] = appearance
    }
    jobs.append("\(appearance) \(place == .main ? "main" : "pool")")
  }

  private func note(alarm number: Int) {
    note(-1 - number, on: .generic)
  }

  private func resume(_ task: Task) {
    guard case .actor(let number) = task.place else {
      ready.append(.task(task))
      return
    }
    places[number].queue.append(task)
    if places[number].state == .idle { schedule(number) }
  }

  private func schedule(_ number: Int) {
    places[number].state = .scheduled
    ready.append(.actor(number))
  }

  private func leaveActiveActor() {
    guard case .actor(let number) = active else { return }
    active = .generic
    if places[number].queue.isEmpty {
      places[number].state = .idle
    } else {
      schedule(number)
    }
  }

  /// Moves a running task to another place, and returns whether it can continue there immediately.
  private func change(_ task: Task, to place: ModelPlace) -> Bool {
    guard place != active else { return true }
    if active != .main {
      switch place {
      case .generic:
        leaveActiveActor()
        return true
      case .actor(let number) where places[number].state == .idle:
        leaveActiveActor()
        places[number].state = .running
        active = place
        return true
      case .main, .actor: break
      }
    }
    task.place = place
    resume(task)
    return false
  }

  /// Runs a task until it is suspended or ends.
  private func go(_ task: Task) {
    // What it waited for has happened. Not earlier: until it runs again, its cancellation still ends
    // the stream from which it has received.
    switch task.cancellables.last {
    case .sleep, .runtimeSleep, .stream: task.cancellables.removeLast()
    case .group, nil: break
    }
    while task.position < task.instructions.count {
      let instruction = task.instructions[task.position]
      task.position += 1
      guard carryOut(instruction, by: task) else { return }
    }
    task.isOver = true
    unfinished -= 1
    if let group = task.parent {
      group.running -= 1
      group.ended += 1
      if group.ownerWaits {
        group.ownerWaits = false
        group.ended -= 1
        resume(group.owner)
      }
    }
    for waiter in task.waiters.reversed() { resume(waiter) }
  }

  /// Carries out an instruction of a running task; returns `false` if the task is suspended.
  private func carryOut(_ instruction: ModelInstruction, by task: Task) -> Bool {
    switch instruction {
    case .note(let step, let result):
      events.append(
        Event(time: now, task: task.number, step: step, result: result ?? task.result))
      task.result = 0
      return true
    case .change(let place):
      return change(task, to: place)
    case .announceSleep(let seconds, let count):
      if task.isCancelled { task.result = Event.cancelled }
      if task.isCancelled || seconds <= 0 {
        task.position += count
      } else {
        task.announced = Sleep(deadline: now + seconds, number: nextSleepNumber, task: task)
        nextSleepNumber += 1
      }
      return true
    case .sleep:
      guard let sleep = task.announced else { return true }
      task.announced = nil
      if task.isCancelled {
        task.result = Event.cancelled
        return true
      }
      sleeps.append(sleep)
      return suspend(task, until: .sleep)
    case .sleepOnRuntime(let seconds):
      guard isScope else {
        guard carryOut(.announceSleep(seconds, orSkip: 0), by: task) else { return false }
        return carryOut(.sleep, by: task)
      }
      if task.isCancelled {
        task.result = Event.cancelled
        return true
      }
      if seconds > 0 {
        sleeps.append(
          Sleep(
            deadline: now + seconds, number: nextSleepNumber, task: task, isOnRuntime: true))
      } else {
        ready.append(.alarm(task, number: nextSleepNumber))
      }
      nextSleepNumber += 1
      task.isAwake = false
      return suspend(task, until: .runtimeSleep)
    case .yield:
      ready.append(.yield(task))
      return suspend(task)
    case .start(let start, let body):
      let place: ModelPlace = start == .mainActor ? .main : .generic
      let new = Task(body.task, ModelInstruction.body(body, on: place), on: place)
      tasks[body.task] = new
      unfinished += 1
      resume(new)
      return true
    case .beginGroup:
      task.cancellables.append(.group(Group(owner: task)))
      return true
    case .startChild(let body):
      guard let group = task.innermostGroup else { return true }
      let child = Task(
        body.task, ModelInstruction.body(body, on: .generic), on: .generic, parent: group)
      child.isCancelled = task.isCancelled
      group.children.append(child)
      group.running += 1
      unfinished += 1
      resume(child)
      return true
    case .awaitChildren:
      guard let group = task.innermostGroup else { return true }
      group.ended = 0
      guard group.running > 0 else {
        task.cancellables.removeLast()
        return true
      }
      group.ownerWaits = true
      // Comes here again for the next child.
      task.position -= 1
      return suspend(task)
    case .join(let other):
      guard other > task.number, let other = tasks[other] else {
        task.result = Event.nothing
        return true
      }
      guard !other.isOver else { return true }
      other.waiters.append(task)
      return suspend(task)
    case .cancel(let other):
      guard let other = tasks[other] else {
        task.result = Event.nothing
        return true
      }
      cancel(other)
      return true
    case .send(let stream, let element):
      guard !streams[stream].isFinished else { return true }
      if streams[stream].receivers.isEmpty {
        streams[stream].elements.append(element)
      } else {
        let receiver = streams[stream].receivers.removeFirst()
        receiver.result = element
        resume(receiver)
      }
      return true
    case .receive(let stream):
      if task.isCancelled { finish(stream) }
      if !streams[stream].elements.isEmpty {
        task.result = streams[stream].elements.removeFirst()
        return true
      }
      if streams[stream].isFinished {
        task.result = Event.nothing
        return true
      }
      streams[stream].receivers.append(task)
      return suspend(task, until: .stream(stream))
    case .settle:
      settles.append(task)
      return suspend(task)
    case .advance(let seconds): return request(.advance(seconds), by: task)
    case .advanceTo(let seconds): return request(.advanceTo(now + seconds), by: task)
    case .advanceToNextSleep: return request(.nextSleep, by: task)
    case .runClock: return request(.run, by: task)
    case .look:
      let pending = sleeps.sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
      task.result = pending.reduce(0) { $0 &* 31 &+ $1.deadline &+ 1 }
      return true
    case .finishStreams:
      for stream in streams.indices { finish(stream) }
      return true
    case .repeatIfUnfinished(let count):
      if unfinished > 0 { task.position -= count + 1 }
      return true
    }
  }

  /// Suspends a running task; it will continue where no actor is.
  private func suspend(_ task: Task, until cancellable: Cancellable? = nil) -> Bool {
    task.place = .generic
    if let cancellable { task.cancellables.append(cancellable) }
    return false
  }

  private func request(_ kind: Request.Kind, by task: Task) -> Bool {
    requests.append(Request(kind: kind, task: task))
    return suspend(task)
  }

  // MARK: - Cancellation

  private func cancel(_ task: Task) {
    guard !task.isCancelled else { return }
    task.isCancelled = true
    for cancellable in task.cancellables.reversed() {
      switch cancellable {
      case .sleep:
        guard let sleep = sleeps.firstIndex(where: { $0.task === task }) else { continue }
        sleeps.remove(at: sleep)
        task.result = Event.cancelled
        resume(task)
      case .runtimeSleep:
        guard !task.isAwake else { continue }
        if let sleep = sleeps.firstIndex(where: { $0.task === task }) {
          ready.append(.alarm(nil, number: sleeps.remove(at: sleep).number))
        }
        task.result = Event.cancelled
        task.isAwake = true
        resume(task)
      case .stream(let stream):
        finish(stream)
      case .group(let group):
        for child in group.children where !child.isOver { cancel(child) }
      }
    }
  }

  /// Ends a stream, as the cancellation of a task that receives from it also does.
  private func finish(_ stream: Int) {
    streams[stream].isFinished = true
    let receivers = streams[stream].receivers
    streams[stream].receivers = []
    for receiver in receivers {
      receiver.result = Event.nothing
      resume(receiver)
    }
  }
}

extension ModelMachine.Task {
  fileprivate var innermostGroup: ModelMachine.Group? {
    for case .group(let group) in cancellables.reversed() { return group }
    return nil
  }
}
