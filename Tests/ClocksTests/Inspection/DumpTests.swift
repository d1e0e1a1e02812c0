import Dispatch
import Foundation
import TestTraits
import Testing

@testable import Clocks

private actor Poller {
  private let clock: TestClock<Duration>

  init(_ clock: TestClock<Duration>) { self.clock = clock }

  func poll() async { for _ in 1...3 { await pause() } }

  private func pause() async { try? await clock.sleep(for: .seconds(2)) }
}

private func loadBoth(_ clock: TestClock<Duration>) async {
  await withTaskGroup { group in
    group.addTask(name: "left") { try? await clock.sleep(for: .seconds(5)) }
    group.addTask(name: "right") { try? await clock.sleep(for: .seconds(6)) }
  }
}

private func awaitSignal(_ waiting: Log<UnsafeContinuation<Void, Never>>) async {
  await withUnsafeContinuation { waiting.add($0) }
}

private actor Store {
  func write(_ entered: DispatchSemaphore, _ leave: DispatchSemaphore) {
    entered.signal()
    leave.wait()
  }

  func read() {}
}

/// Dumps of real tasks.
@Suite struct DumpTests {
  @Test func everythingCanBeReadHere() {
    let clock = TestClock()
    withExtendedLifetime(clock) { #expect(TaskLayoutProbe.here.missing == []) }
  }

  @Test func theBitsOfATaskAreVerifiedHere() {
    let probe = StatusProbe.here
    #expect(probe.missing == [])
    #expect(probe.readsStatus && probe.readsCancellation && probe.readsPreferences)
    #expect(probe.readsChildren && probe.readsAsyncLets && probe.readsNames)
  }

  @Test func bitsThatDoNotHoldAreListed() {
    var probe = StatusProbe.here
    probe.readsPreferences = false
    probe.readsAsyncLets = false
    // The runtime's functions replace these.
    probe.readsCancellation = false
    probe.readsNames = false
    #expect(probe.missing == ["tasks that prefer an executor", "tasks that await an async let"])
    probe.readsStatus = false
    #expect(probe.missing == ["whether a task is over"])
  }

  @Test func functionsOfThisPackageAreOmitted() async {
    let clock = TestClock()
    let task = Task { for await _ in AnyClock(clock).timer(interval: .seconds(1)) {} }
    await clock.settle()
    let dump = clock.dump()
    #expect(dump.contains("DumpTests.functionsOfThisPackageAreOmitted() at "), "\(dump)")
    #expect(!dump.contains(/AnyClock|ClockTimerSequence/), "\(dump)")
    task.cancel()
    await task.value
  }

  @Test(.unless(.tasksHaveNoNames)) func aTestsTasksAreATree() async {
    let clock = TestClock()
    let task = Task(name: "poller") { await Poller(clock).poll() }
    let loader = Task(name: "loader") { await loadBoth(clock) }
    await clock.settle()
    #expect(
      clock.dump().withoutNumbers == """
        Where the test's 5 tasks are:
        - task # "[Swift Testing] test aTestsTasksAreATree() - running" runs, and requests this dump
        - task # "poller" sleeps until 2.0 seconds on TestClock
            Poller.pause() at DumpTests.swift
            Poller.poll() at DumpTests.swift
            closure #1 in DumpTests.aTestsTasksAreATree() at DumpTests.swift
        - task # "loader" awaits its child tasks
            loadBoth(_:) at DumpTests.swift
            closure #2 in DumpTests.aTestsTasksAreATree() at DumpTests.swift
          - child task # "left" sleeps until 5.0 seconds on TestClock
              closure #1 in closure #1 in loadBoth(_:) at DumpTests.swift
          - child task # "right" sleeps until 6.0 seconds on TestClock
              closure #2 in closure #1 in loadBoth(_:) at DumpTests.swift
        """)
    await clock.advance(by: .seconds(10))
    await task.value
    await loader.value
    #expect(
      clock.dump().withoutNumbers == """
        Where the test's task is:
        - task # "[Swift Testing] test aTestsTasksAreATree() - running" runs, and requests this dump
        """)
  }

  @Test func aScopeHasADumpAsWell() async throws {
    try await withVirtualTime { time in
      let task = Task(name: "sleeper") { try await time.clock.sleep(for: .seconds(3)) }
      await time.settle()
      #expect(
        time.dump().contains(/- task #\d+ "sleeper" sleeps until 3.0 seconds on TestClock\n/))
      #expect(
        time.debugDescription.hasPrefix(
          "It is 0.0 seconds. Pending sleeps:\n  - until 3.0 seconds"))
      #expect(time.debugDescription.hasSuffix(time.dump()))
      try await task.value
    }
  }

  /// A debugger stops on any thread, also on one that runs no task.
  @Test func aThreadWithoutATaskGetsItInTheDescription() async throws {
    let clock = TestClock()
    let task = Task(name: "sleeper") { try await clock.sleep(for: .seconds(1)) }
    await clock.settle()
    let text = await withUnsafeContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: clock.debugDescription) }
    }
    #expect(text.contains(/- task #\d+ "sleeper" sleeps until 1.0 seconds on TestClock\n/))
    await clock.advance(by: .seconds(1))
    try await task.value
  }

  /// Nothing retains the task of an `async let`: the dump finds it from its parent.
  @Test func anAsyncLetStandsBelowItsParent() async {
    let clock = TestClock()
    let waiting = Log<UnsafeContinuation<Void, Never>>()
    let parent = Task(name: "parent") {
      async let signal: Void = awaitSignal(waiting)
      try? await clock.sleep(for: .seconds(4))
      await signal
    }
    await clock.settle()
    let child =
      /\n- task #\d+ "parent" sleeps until 4.0 seconds .*\n.*\n {2}- child task #\d+ awaits a continuation\n/
    #expect(clock.dump().contains(child), "\(clock.dump())")
    parent.cancel()
    waiting.all.first?.resume()
    await parent.value
  }

  @Test func aTaskThatIsReadyIsKnown() async {
    let clock = TestClock()
    let task = Task(name: "next") {}
    #expect(clock.dump().contains(/- task #\d+ "next" is ready to run/))
    await task.value
  }

  /// A task outside the test runs on the actor.
  @Test(.blocksAThread) func aTaskThatWaitsForAnActorIsSaidTo() async {
    let store = Store()
    let (entered, leave) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let writer = await unownedTask { await store.write(entered, leave) }
    Self.wait(entered)
    let clock = TestClock()
    let reader = Task(name: "reader") { await store.read() }
    await Task.yield()
    let dump = clock.dump()
    leave.signal()
    #expect(
      dump.withoutNumbers.hasSuffix(
        """

        - task # "reader" waits for its turn on the actor Store
            closure #2 in DumpTests.aTaskThatWaitsForAnActorIsSaidTo() at DumpTests.swift
        """), "\(dump)")
    await writer.value
    await reader.value
  }

  private static func wait(_ semaphore: DispatchSemaphore) { semaphore.wait() }

  @Test func thousandsOfTasksAreSummedUp() async {
    let clock = TestClock()
    let tasks = (1...2_000).map { number in
      Task(name: "\(number)") { try? await clock.sleep(for: .seconds(number)) }
    }
    await clock.settle()
    let lines = clock.dump().split(separator: "\n")
    #expect(lines.count == 4, "\(clock.dump())")
    #expect(
      String(lines[2]).withoutNumbers == """
        - 2000 tasks (# "1", # "2", # "3", # "4", …), each sleeps until 1.0 seconds on TestClock, or \
        until another instant
        """)
    for task in tasks { task.cancel() }
    await clock.settle()
    #expect(!clock.dump().contains("tasks ("))
  }

  /// The executable's symbol table names the functions where no tool finds the lines.
  @Test func withoutDebugInformationFunctionsAreNamed() async {
    let clock = TestClock()
    let task = Task(name: "poller") { await Poller(clock).poll() }
    await clock.settle()
    let dump = clock.scheduler.dumpTasks()
    let symbols = Symbols(withoutTool: dump.functions, in: dump.images)
    let text = dump.text(mostLines: 40, symbols: symbols)
    #expect(
      text.hasSuffix(
        """
            Poller.pause()
            Poller.poll()
            closure #1 in DumpTests.withoutDebugInformationFunctionsAreNamed()
        No lines: \(Symbolizer.reason).
        """), "\(text)")
    let full = dump.symbols()
    for address in dump.functions {
      #expect(symbols.frames[address]?.function == full.frames[address]?.function)
    }
    task.cancel()
  }

  @Test func anErrorIsEqualWhereverTheTasksAre() async {
    let clock = TestClock()
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    let first = await #expect(throws: SuspensionError.self) { try await clock.checkSuspension() }
    let other = Task { try await clock.sleep(for: .seconds(0)) }
    let second = await #expect(throws: SuspensionError.self) { try await clock.checkSuspension() }
    #expect(first != nil && first == second)
    #expect(first?.hashValue == second?.hashValue)
    #expect(first?.description.contains("Where the test's 2 tasks are:") == true)
    task.cancel()
    other.cancel()
  }

  @Test(arguments: ["USR1", "sigusr1", "SIGUSR1"]) func aSignalHasAName(_ name: String) {
    #expect(Environment.number(ofSignal: name) == SIGUSR1)
  }

  @Test(arguments: ["", "SIG", "KILL", "1", "USR3"]) func anUnknownSignalHasNone(_ name: String) {
    #expect(Environment.number(ofSignal: name) == nil)
  }
}
