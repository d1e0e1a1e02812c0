import Clocks
import ClocksTestKit
import Foundation
import Synchronization
import Testing

/// An executor that takes a while for each job, on one thread.
private final class SlowThread: TaskExecutor, SerialExecutor, @unchecked Sendable {
  private let condition = NSCondition()
  private var jobs: [UnownedJob] = []
  private var isOver = false

  init() {
    Thread.detachNewThread { [self] in
      while let job = next() {
        usleep(200)
        job.runSynchronously(
          isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
      }
    }
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  private func next() -> UnownedJob? {
    condition.withLock {
      while jobs.isEmpty && !isOver { condition.wait() }
      return jobs.isEmpty ? nil : jobs.removeFirst()
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    condition.withLock {
      jobs.append(job)
      condition.signal()
    }
  }

  func stop() {
    condition.withLock {
      isOver = true
      condition.signal()
    }
  }
}

private actor OnThread {
  private let thread: SlowThread

  init(_ thread: SlowThread) { self.thread = thread }

  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  func tick(_ log: Events) async throws {
    for _ in 0..<3 {
      try await log.sleep(for: .seconds(1))
      preconditionIsolated()
      log.add("tick")
    }
  }
}

/// An executor whose `enqueue` runs each job to its end on another thread, and then returns.
private final class EagerSerialExecutor: SerialExecutor {
  private let lock = NSLock()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let hasRun = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [self] in
      lock.withLock { job.runSynchronously(on: asUnownedSerialExecutor()) }
      hasRun.signal()
    }
    hasRun.wait()
  }
}

@globalActor private actor EagerActor {
  static let shared = EagerActor()
  static let executor = EagerSerialExecutor()

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    Self.executor.asUnownedSerialExecutor()
  }
}

/// What happened, with the instants.
private final class Events: Sendable {
  private let events = Mutex<[String]>([])
  private let time: @Sendable () -> TestClock<Duration>.Instant
  private let sleep: @Sendable (Duration) async throws -> Void

  /// In a scope.
  init(_ virtual: VirtualTime) {
    time = { virtual.now }
    sleep = { try await Task.sleep(for: $0) }
  }

  init(_ clock: TestClock<Duration>) {
    time = { clock.now }
    sleep = { try await clock.sleep(for: $0) }
  }

  func sleep(for duration: Duration) async throws { try await sleep(duration) }

  func add(_ text: String) {
    let instant = time().offset
    events.withLock { $0.append("\(instant) \(text)") }
  }

  var all: [String] { events.withLock { $0 } }
}

/// A task is known before its executor has run its first job, even if no task awaits it.
@Suite struct AsyncLetOnExecutorTests {
  private let ticks = [
    "1.0 seconds tick", "2.0 seconds tick", "2.5 seconds parent", "3.0 seconds tick",
  ]

  /// Runs the operation in a scope and on a test clock.
  private func check(
    _ expected: [String], at location: SourceLocation = #_sourceLocation,
    _ operation: @escaping @Sendable (Events) async throws -> Void
  ) async throws {
    try await withVirtualTime { time in
      let events = Events(time)
      try await operation(events)
      #expect(events.all == expected, sourceLocation: location)
    }
    let clock = TestClock()
    let events = Events(clock)
    let task = Task { try await operation(events) }
    await clock.advance(by: .seconds(10))
    #expect(events.all == expected, sourceLocation: location)
    try await task.value
  }

  @Test(.repeated(10)) func anAsyncLetInheritsTheExecutorOfASleepingTask() async throws {
    try await check(ticks) { events in
      let thread = SlowThread()
      defer { thread.stop() }
      try await withTaskExecutorPreference(thread) {
        async let child: Void = {
          for _ in 0..<3 {
            try await events.sleep(for: .seconds(1))
            events.add("tick")
          }
        }()
        try await events.sleep(for: .seconds(2.5))
        events.add("parent")
        try await child
      }
    }
  }

  @Test(.repeated(10)) func anAsyncLetIsOnAnActorWhileItsParentSleeps() async throws {
    try await check(ticks) { events in
      let thread = SlowThread()
      defer { thread.stop() }
      let actor = OnThread(thread)
      async let child: Void = actor.tick(events)
      try await events.sleep(for: .seconds(2.5))
      events.add("parent")
      try await child
    }
  }

  @Test(.repeated(10)) func anAsyncLetBelowAnAsyncLet() async throws {
    try await check(ticks) { events in
      let thread = SlowThread()
      defer { thread.stop() }
      try await withTaskExecutorPreference(thread) {
        async let child: Void = {
          async let grandchild: Void = OnThread(thread).tick(events)
          try await events.sleep(for: .seconds(2.7))
          try await grandchild
        }()
        try await events.sleep(for: .seconds(2.5))
        events.add("parent")
        try await child
      }
    }
  }

  @Test(.repeated(10)) func aTaskThatBeginsOnASerialExecutor() async throws {
    let expected = (0..<20).map { "1.0 seconds \($0)" } + ["1.5 seconds parent"]
    try await check(expected) { events in
      for number in 0..<20 {
        Task { @EagerActor in
          try await events.sleep(for: .seconds(1))
          EagerActor.preconditionIsolated()
          events.add("\(number)")
        }
      }
      try await events.sleep(for: .seconds(1.5))
      events.add("parent")
    }
  }
}
