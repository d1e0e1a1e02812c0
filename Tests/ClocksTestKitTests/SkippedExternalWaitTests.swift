import Clocks
import ClocksTestKit
import Foundation
import Testing

/// The error of a timeout that users write themselves.
private func limited<Result: Sendable>(
  to limit: Duration, _ operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  try await withThrowingTaskGroup { group in
    group.addTask(name: "fetch", operation: operation)
    group.addTask {
      try await Task.sleep(for: limit)
      throw TimeoutFailure()
    }
    defer { group.cancelAll() }
    return try await group.next()!
  }
}

private struct TimeoutFailure: Error {}

/// An answer that another thread gives when virtual time has moved by a minimum.
@Sendable func answerFromElsewhere(after duration: Duration = .seconds(30)) async -> Int {
  let time = VirtualTime.current!
  let answer = await withUnsafeContinuation { continuation in
    let start = time.now
    Thread.detachNewThread {
      while start.duration(to: time.now) < duration { usleep(1_000) }
      continuation.resume(returning: 42)
    }
  }
  return answer
}

/// A word that another thread never yields. The wait ends if the task is cancelled.
@Sendable private func wordFromElsewhere() async -> String? {
  let (words, continuation) = AsyncStream.makeStream(of: String.self)
  defer { withExtendedLifetime(continuation) {} }
  for await word in words { return word }
  return nil
}

/// An answer that another thread gives when no task waits for it any more.
@Sendable private func lateAnswerFromElsewhere() async -> Int {
  let answer = Answer()
  return await withTaskCancellationHandler {
    await withUnsafeContinuation { answer.continuation = $0 }
  } onCancel: {
    Thread.detachNewThread { answer.continuation?.resume(returning: 42) }
  }
}

private final class Answer: @unchecked Sendable {
  /// Written before the task is suspended, and read when it is.
  var continuation: UnsafeContinuation<Int, Never>?
}

enum WayToSleep: CaseIterable {
  case onNoClock, onATestClock, onATestClockWithTolerance

  func sleep(for duration: Duration, _ clock: TestClock<Duration>) async throws {
    switch self {
    case .onNoClock: try await Task.sleep(for: duration)
    case .onATestClock: try await clock.sleep(for: duration)
    case .onATestClockWithTolerance: try await clock.sleep(for: duration, tolerance: .seconds(1))
    }
  }
}

/// A failure has a note if time jumped to a deadline while the test waited for real work.
@Suite struct SkippedExternalWaitTests {
  private func inVirtualTime(_ body: @escaping @Sendable () async throws -> Void) async throws
    -> [Failure]
  {
    try await failures { try await VirtualTimeTrait.virtualTime.run(body) }
  }

  private let certain = """
    Time jumped 30.0 seconds, to 30.0 seconds, while task # "fetch" waited for work outside the scope, \
    a socket or a thread: nothing of the test could run. Put that work into `time.holding { … }`.
    """

  @Test func anErrorNamesTheTaskThatWaited() async throws {
    let found = try await inVirtualTime {
      _ = try await limited(to: .seconds(30), lateAnswerFromElsewhere)
    }
    #expect(found.map(\.text) == [certain])
  }

  @Test func anExpectationNamesTheTaskThatWaited() async throws {
    let found = try await inVirtualTime {
      try await Task.sleep(for: .seconds(5))
      let answer = try? await limited(to: .seconds(30), lateAnswerFromElsewhere)
      #expect(answer == 42)
    }
    let text = certain.replacingOccurrences(of: "to 30.0", with: "to 35.0")
    #expect(found.map(\.text) == [text])
  }

  /// The failure occurs while the work is still under way.
  @Test func aTimeoutNamesTasksThatMayHaveWaited() async throws {
    let gate = Gate()
    let found = try await inVirtualTime {
      Task(name: "fetch") { await gate.pass() }
      // A sleeping task does not wait for work.
      Task(name: "poller") { try await Task.sleep(for: .seconds(600)) }
      await Task(name: "sleeper") { try? await Task.sleep(for: .seconds(30)) }.value
      throw TimeoutFailure()
    }
    gate.open()
    #expect(
      found.map(\.text) == [
        """
        Time jumped 30.0 seconds, to 30.0 seconds, because nothing of the test could run. If it waited \
        for real work, a socket or a thread, put that into `time.holding { … }`. These tasks have \
        waited for a continuation since before the jump: task # "fetch".
        """
      ])
  }

  private func possible(_ task: String, jumped: String = "5.0 seconds") -> String {
    """
    Time jumped \(jumped), to 5.0 seconds, because nothing of the test could run. If it waited \
    for real work, a socket or a thread, put that into `time.holding { … }`. These tasks have \
    waited for a continuation since before the jump: task # \(task).
    """
  }

  /// The stream ends when the task is cancelled, so nothing waits any more when the failure occurs.
  @Test func aTimeoutNamesATaskThatWaitedUntilItWasCancelled() async throws {
    let found = try await inVirtualTime {
      _ = try await limited(to: .seconds(5)) { await wordFromElsewhere() }
    }
    #expect(found.map(\.text) == [possible("\"fetch\"")])
  }

  @Test(arguments: [false, true]) func waitsForConditionsAndEventsNameTheTask(_ isProbe: Bool)
    async throws
  {
    let found = try await inVirtualTime {
      let (words, continuation) = AsyncStream.makeStream(of: String.self)
      Task(name: "fetch") { if let word = await wordFromElsewhere() { continuation.yield(word) } }
      if isProbe {
        _ = await Probe(words).next(within: .seconds(5))
      } else {
        await VirtualTime.current!.eventually(within: .seconds(5)) { false }
      }
    }
    let text = try #require(found.first).text
    #expect(text.contains("task # \"fetch\""), "\(text)")
    #expect(text.contains("Time jumped 5.0 seconds, to 5.0 seconds, because"), "\(text)")
  }

  // MARK: - No note

  /// A task that waits until the test is idle has waited for time, although it has not run since a jump.
  @Test(arguments: [false, true]) func noNoteOnATaskThatWaitsUntilTheTestIsIdle(isPaced: Bool)
    async throws
  {
    let found = try await inVirtualTime {
      let time = VirtualTime.current!
      Task(name: "observer") {
        if isPaced {
          await time.never(within: .seconds(60)) { false }
        } else {
          await time.advance(upTo: .seconds(60)) { false }
        }
      }
      await Task(name: "sleeper") { try? await Task.sleep(for: .seconds(5)) }.value
      Issue.record(TimeoutFailure())
      try await Task.sleep(for: .seconds(60))
    }
    #expect(found.map(\.text) == [""])
  }

  /// A task that was cancelled in a sleep has waited for time.
  @Test(arguments: WayToSleep.allCases) func noNoteOnASleepThatATimeoutCancels(
    _ way: WayToSleep
  ) async throws {
    let found = try await inVirtualTime {
      let clock = TestClock()
      do {
        _ = try await limited(to: .seconds(5)) {
          try? await way.sleep(for: .seconds(600), clock)
          return 1
        }
      } catch {
        Issue.record(error)
      }
    }
    #expect(found.map(\.text) == [""])
  }

  @Test func noNoteOnAConditionOfThePresent() async throws {
    let found = try await inVirtualTime {
      Task(name: "fetch") { await wordFromElsewhere() }
      await VirtualTime.current!.eventually(within: .zero) { false }
    }
    #expect(
      found.map { $0.text.prefix { $0 != "\n" } } == [
        "The condition did not hold at any time within 0.0 seconds."
      ])
    #expect(!found.contains { $0.text.contains("Time jumped") })
  }

  @Test func noNoteOnAnotherErrorWhileTasksWait() async throws {
    let gate = Gate()
    let found = try await inVirtualTime {
      Task(name: "listener") { await gate.pass() }
      try await Task.sleep(for: .seconds(30))
      Issue.record("something else")
    }
    gate.open()
    #expect(found.map(\.text) == ["something else"])
  }

  @Test func noNoteOnATimeoutBeforeAnyJump() async throws {
    let gate = Gate()
    let found = try await inVirtualTime {
      Task(name: "fetch") { await gate.pass() }
      await Task.yield()
      Issue.record(TimeoutFailure())
    }
    gate.open()
    #expect(found.map(\.text) == [""])
  }

  @Test func noNoteOnWorkForWhichTimeIsHeld() async throws {
    let found = try await inVirtualTime {
      let time = VirtualTime.current!
      let answer = try await limited(to: .seconds(30)) {
        await time.holding { await answerFromElsewhere(after: .zero) }
      }
      #expect(answer == 0)
    }
    #expect(found.map(\.text) == [""])
  }

  /// A sleeping task waits for time, even if a thread outside the test makes it ready by cancelling it.
  @Test(arguments: WayToSleep.allCases) func noNoteOnASleepThatAnotherThreadCancels(
    _ way: WayToSleep
  ) async throws {
    let found = try await inVirtualTime {
      let time = VirtualTime.current!
      let clock = TestClock()
      let task = Task { try await way.sleep(for: .seconds(600), clock) }
      try await Task.sleep(for: .seconds(30))
      await time.holding {
        await withUnsafeContinuation { continuation in
          Thread.detachNewThread {
            task.cancel()
            continuation.resume()
          }
        }
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      Issue.record("something else")
    }
    #expect(found.map(\.text) == ["something else"])
  }

  /// The task continues because it was cancelled, not because external work ended.
  @Test func noNoteOnABodyThatAnotherThreadCancels() async throws {
    let jumped = DispatchSemaphore(value: 0)
    let found = try await failures {
      let running = Task {
        try await inVirtualTime {
          let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
          Task {
            try await Task.sleep(for: .seconds(30))
            jumped.signal()
          }
          for await _ in stream {}
          withExtendedLifetime(continuation) {}
          Issue.record("something else")
        }
      }
      Thread.detachNewThread {
        jumped.wait()
        running.cancel()
      }
      let found = try await running.value
      #expect(found.map(\.text) == ["something else"])
    }
    #expect(found.isEmpty)
  }

  @Test func noNoteOnWorkThatTheScopeSees() async throws {
    let found = try await inVirtualTime {
      await withUnsafeContinuation { continuation in
        DispatchQueue.global().asyncAfter(deadline: .now() + 20) { continuation.resume() }
      }
      let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
      let reader = Task { for await _ in stream {} }
      try await Task.sleep(for: .seconds(20))
      // An inner scope makes a task of the outer scope ready.
      try await withVirtualTime { _ in
        try await Task.sleep(for: .seconds(1))
        continuation.yield(1)
        continuation.finish()
      }
      await reader.value
      Issue.record("something else")
    }
    #expect(found.map(\.text) == ["something else"])
  }

  // MARK: - Without the trait

  @Test func aScopeThatThrowsWritesTheNoteToStandardError() async throws {
    let child = try await ChildProcess.runTests(
      "SkippedExternalWaitSample", environment: ["CLOCKS_TESTS_SKIPPED_WAIT_SAMPLE": "1"])
    #expect(child.exitCode == 0, "\(child)")
    let lines = child.lines(containing: "Time jumped")
    let line = try #require(lines.first)
    #expect(lines.count == 1)
    #expect(
      line.contains("SkippedExternalWaitTests.swift:\(SkippedExternalWaitSample.line): warning: "))
    #expect(line.contains("withVirtualTime has thrown an error. Time jumped 30.0 seconds, to 30.0"))
  }
}

/// Runs in another process, whose standard error is checked.
@Suite(.onlyInChild("CLOCKS_TESTS_SKIPPED_WAIT_SAMPLE")) struct SkippedExternalWaitSample {
  static let line = #line + 3

  @Test func throwsAnError() async {
    await #expect(throws: TimeoutFailure.self) {
      try await withVirtualTime { _ in
        _ = try await limited(to: .seconds(30), lateAnswerFromElsewhere)
      }
    }
    await #expect(throws: TimeoutFailure.self) {
      try await withVirtualTime { _ in throw TimeoutFailure() }
    }
  }
}
