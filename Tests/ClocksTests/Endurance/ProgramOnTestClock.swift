import ClocksSupport

@testable import Clocks

extension Program {
  /// Where a program is carried out by real tasks.
  enum Setting: Sendable, CaseIterable {
    /// On a `TestClock` of a task of its own.
    case clock
    /// In a scope of virtual time, in which time moves only by hand.
    case scope
    /// In a scope of virtual time, in which time jumps by itself.
    case jumpingScope
  }

  /// The paths through the scheduler, which all give the same results.
  enum Way: Sendable, CaseIterable {
    /// The fast way of sleeping. Jobs are recorded, so each woken task passes through the queue.
    case observed
    /// The way of sleeping without `CLOCKS_FAST`. Jobs are recorded.
    case general
    /// The fast way of sleeping. No job is recorded.
    case unobserved
  }

  /// Carries the program out with real tasks.
  func run(in setting: Setting, _ way: Way) async -> ProgramLog {
    // A task of its own, so that the calling test does not own the clock.
    await Task.detached {
      switch setting {
      case .clock:
        return await Performance(on: TestClock(), isScope: false).perform(self, way)
      case .scope, .jumpingScope:
        let log = try? await withVirtualTime(autoAdvance: setting == .jumpingScope) { time in
          await Performance(on: time.clock, isScope: true).perform(self, way)
        }
        return log ?? ProgramLog(events: [], jobs: [])
      }
    }.value
  }
}

/// One run of a program by real tasks on a `TestClock`.
///
/// No two tasks of the program run at the same time. A lock still guards all state, so that a broken scheduler
/// makes a test fail instead of crash.
private final class Performance: Sendable {
  let clock: TestClock<Duration>
  /// Whether time is virtual throughout.
  let isScope: Bool
  let events = Log<Event>()
  let recorder = Recorder()
  let streams = (0..<Program.streams).map { _ in AsyncStream<Int>.makeStream() }
  let places = (0..<Program.places).map { _ in Place() }

  /// Guards what follows.
  private let lock = Lock()
  nonisolated(unsafe) private var handles: [Int: Task<Void, Never>] = [:]
  nonisolated(unsafe) private var unfinished = 0

  init(on clock: TestClock<Duration>, isScope: Bool) {
    self.clock = clock
    self.isScope = isScope
  }

  /// An actor to be on.
  actor Place {
    func perform(_ steps: [Program.Step], of task: Int, in performance: Performance) async {
      await performance.perform(steps, of: task)
    }
  }

  func perform(_ program: Program, _ way: Program.Way) async -> ProgramLog {
    clock.scheduler.usesFastWay = way != .general
    if way != .unobserved { clock.scheduler.change { $0.recorder = recorder } }
    await perform(program.root.steps, of: 0)
    repeat {
      for stream in streams { stream.continuation.finish() }
      await clock.run()
      note(Event.epilogue, of: 0, 0)
    } while lock.withLock { unfinished > 0 }
    clock.scheduler.change { $0.recorder = nil }
    clock.checkInvariants()
    return ProgramLog(events: events.all, jobs: recorder.jobs)
  }

  private func note(_ step: Int, of task: Int, _ result: Int) {
    let time = Int(clock.now.offset.components.seconds)
    events.add(Event(time: time, task: task, step: step, result: result))
  }

  private nonisolated(nonsending) func perform(_ body: Program.Body) async {
    note(Event.began, of: body.task, 0)
    await perform(body.steps, of: body.task)
    note(Event.ended, of: body.task, 0)
    lock.withLock { unfinished -= 1 }
  }

  private nonisolated(nonsending) func perform(_ steps: [Program.Step], of task: Int) async {
    for step in steps {
      let result = await perform(step, of: task)
      note(step.number, of: task, result)
    }
  }

  private nonisolated(nonsending) func perform(
    _ step: Program.Step, of task: Int
  ) async -> Int {
    switch step.operation {
    case .sleepUntil(let seconds):
      do {
        try await clock.sleep(until: clock.now.advanced(by: .seconds(seconds)))
        return 0
      } catch {
        return Event.cancelled
      }
    case .sleepFor(let seconds):
      do {
        try await clock.sleep(for: .seconds(seconds))
        return 0
      } catch {
        return Event.cancelled
      }
    case .sleepOnRuntime(let seconds):
      do {
        if isScope {
          try await Task.sleep(for: .seconds(seconds))
        } else {
          try await clock.sleep(for: .seconds(seconds))
        }
        return 0
      } catch {
        return Event.cancelled
      }
    case .yield:
      await Task.yield()
      return 0
    case .start(let start, let body):
      self.start(start, body)
      return 0
    case .group(let children, let steps):
      await performGroup(children, steps, of: task)
      return 0
    case .join(let other):
      guard other > task, let handle = lock.withLock({ handles[other] }) else {
        return Event.nothing
      }
      await handle.value
      return 0
    case .cancel(let other):
      guard let handle = lock.withLock({ handles[other] }) else { return Event.nothing }
      handle.cancel()
      return 0
    case .send(let stream):
      streams[stream].continuation.yield(step.number)
      return 0
    case .receive(let stream):
      var iterator = streams[stream].stream.makeAsyncIterator()
      return await iterator.next(isolation: #isolation) ?? Event.nothing
    case .onPlace(let place, let steps):
      await places[place].perform(steps, of: task, in: self)
      return 0
    case .onMain(let steps):
      await performOnMain(steps, of: task)
      return 0
    case .settle:
      await clock.settle()
      return 0
    case .advance(let seconds):
      await clock.advance(by: .seconds(seconds))
      return 0
    case .advanceTo(let seconds):
      await clock.advance(to: clock.now.advanced(by: .seconds(seconds)))
      return 0
    case .advanceToNextSleep:
      let end = await clock.advanceToNextSleep()
      return end.map { Int($0.offset.components.seconds) } ?? Event.nothing
    case .look:
      return clock.pendingSleeps.reduce(0) { sum, sleep in
        sum &* 31 &+ Int(sleep.deadline.offset.components.seconds) &+ 1
      }
    }
  }

  /// Not asynchronous, so that the new task inherits no isolation.
  private func start(_ start: Program.Start, _ body: Program.Body) {
    lock.withLock { unfinished += 1 }
    let handle =
      switch start {
      case .task: Task { await self.perform(body) }
      case .detached: Task.detached { await self.perform(body) }
      case .mainActor: Task { @MainActor in await self.perform(body) }
      }
    lock.withLock { handles[body.task] = handle }
  }

  private func performGroup(
    _ children: [Program.Body], _ steps: [Program.Step], of task: Int,
    isolation: isolated (any Actor)? = #isolation
  ) async {
    await withTaskGroup(of: Void.self) { group in
      // A closure is isolated as its surroundings are if it captures their isolated parameter.
      _ = isolation
      for child in children {
        lock.withLock { unfinished += 1 }
        group.addTask { await self.perform(child) }
      }
      await perform(steps, of: task)
    }
  }

  @MainActor private func performOnMain(_ steps: [Program.Step], of task: Int) async {
    await perform(steps, of: task)
  }
}
