import Clocks
import ClocksTestKit
import Foundation
import TestTraits
import Testing

/// Dispatch sources of all kinds. A source that loses events until it is registered is registered before time moves.
@Suite struct SourceTests {
  /// A queue on which work begins only after some real time.
  private struct LateQueue {
    let queue = DispatchQueue(label: "late")
    let hasBegun = Tally()

    init() {
      let (held, hasBegun) = (HeldQueue(queue), hasBegun)
      Thread.detachNewThread {
        usleep(50_000)
        hasBegun.add()
        held.release()
      }
    }
  }

  private static let kinds: [@Sendable (DispatchQueue) -> any DispatchSourceProtocol] = [
    { DispatchSource.makeSignalSource(signal: SIGWINCH, queue: $0) },
    { DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: $0) },
    { DispatchSource.makeUserDataAddSource(queue: $0) },
    { DispatchSource.makeTimerSource(queue: $0) },
  ]

  /// The pattern of swift-service-lifecycle, which awaits the registration of each signal's source.
  @Test(.virtualTime, arguments: kinds.indices)
  func timeStandsStillWhileARegistrationIsAwaited(_ kind: Int) async throws {
    let time = try #require(VirtualTime.current)
    let other = Task { try await Task.sleep(for: .seconds(3600)) }
    let late = LateQueue()
    let source = Self.kinds[kind](late.queue)
    let date: Date = await withCheckedContinuation { continuation in
      source.setRegistrationHandler { continuation.resume(returning: Date()) }
      source.resume()
    }
    #expect(time.now.offset == .zero)
    #expect(date == Date(), "the handler runs on behalf of the test")
    source.cancel()
    other.cancel()
  }

  /// A source for user data keeps its data until it is registered. A timer fires even if it is not registered.
  @Test(.virtualTime, arguments: kinds.indices.dropLast(2))
  func aSourceIsRegisteredBeforeASleepEnds(_ kind: Int) async throws {
    let late = LateQueue()
    let source = Self.kinds[kind](late.queue)
    source.setEventHandler {}
    source.resume()
    try await Task.sleep(for: .seconds(1))
    #expect(late.hasBegun.value == 1)
    source.cancel()
  }

  @Test(.virtualTime) func dataIsHandledBeforeASleepEnds() async throws {
    let late = LateQueue()
    let (source, sum) = (DispatchSource.makeUserDataAddSource(queue: late.queue), Tally())
    source.setEventHandler { sum.add() }
    source.resume()
    source.add(data: 1)
    try await Task.sleep(for: .seconds(1))
    #expect(late.hasBegun.value == 1 && sum.value == 1)
    source.cancel()
  }

  /// Its third firing would come after the latest instant of Dispatch.
  @Test(.virtualTime) func aTimerWithAnIntervalOfCenturiesFiresTwice() async throws {
    let events = Tally()
    let source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "timer"))
    source.schedule(deadline: .now(), repeating: .seconds(9_000_000_000))
    source.setEventHandler { events.add() }
    source.activate()
    try await Task.sleep(for: .seconds(8_999_999_999))
    #expect(events.value == 1)
    try await Task.sleep(for: .seconds(2))
    #expect(events.value == 2)
    source.cancel()
  }

  @Test(.virtualTime) func aSignalThatComesAfterASleepIsNotLost() async throws {
    let time = try #require(VirtualTime.current)
    for _ in 0..<20 {
      let source = DispatchSource.makeSignalSource(signal: SIGWINCH)
      let (events, continuation) = AsyncStream<Date>.makeStream()
      source.setEventHandler { continuation.yield(Date()) }
      source.resume()
      try await Task.sleep(for: .seconds(1))
      kill(getpid(), SIGWINCH)
      let date = await time.holding { await events.first { _ in true } }
      #expect(date == Date())
      source.cancel()
    }
  }

  /// A source whose registration never comes keeps no time from moving.
  @Test(.virtualTime, arguments: kinds.indices)
  func aCancelledRegistrationIsNotWaitedFor(_ kind: Int) async throws {
    let queue = DispatchQueue(label: "suspended")
    queue.suspend()
    let source = Self.kinds[kind](queue)
    source.setRegistrationHandler { Issue.record("was cancelled") }
    source.resume()
    source.cancel()
    try await Task.sleep(for: .seconds(1))
    let suspended = Self.kinds[kind](queue)
    suspended.setRegistrationHandler {}
    suspended.resume()
    suspended.suspend()
    try await Task.sleep(for: .seconds(1))
    suspended.resume()
    suspended.cancel()
    #expect(VirtualTime.current?.now.offset == .seconds(2))
    queue.resume()
  }

  @Test func aTestClockWaitsForARegistration() async {
    let clock = TestClock()
    let late = LateQueue()
    let source = DispatchSource.makeSignalSource(signal: SIGWINCH, queue: late.queue)
    source.resume()
    await clock.settle()
    #expect(late.hasBegun.value == 1)
    source.cancel()
  }
}

/// Virtual times beyond what Dispatch represents.
@Suite struct FarFutureTests {
  private static let uses: [@Sendable () async throws -> Void] = [
    { _ = ContinuousClock.now },
    { _ = SuspendingClock.now },
    { _ = "\(Date()), \(ProcessInfo.processInfo.systemUptime)" },
    { _ = DispatchTime.now() + 1 },
    { _ = DispatchWallTime.now() + 1 },
    { _ = DispatchSemaphore(value: 0).wait(timeout: .now()) },
    { waitUntilNow() },
    { try? await Task.sleep(for: .seconds(1)) },
    { try? await Task.sleep(nanoseconds: 1) },
    { await VirtualTime.current?.advance(by: .seconds(10)) },
    {
      let timer = DispatchSource.makeTimerSource()
      timer.schedule(deadline: .now(), repeating: 1)
      timer.setEventHandler {}
      timer.resume()
      timer.cancel()
    },
  ]

  @Test(
    .virtualTime,
    arguments: uses.indices, [Duration.seconds(600 * 366 * 86_400), .seconds(Int64.max)])
  func noReadingTraps(_ use: Int, _ ahead: Duration) async throws {
    let time = try #require(VirtualTime.current)
    await time.advance(by: ahead)
    #expect(time.now.offset == ahead)
    try await Self.uses[use]()
  }

  @Test(.virtualTime) func timeOfDispatchStandsStillAtItsEnd() async {
    await VirtualTime.current?.advance(by: .seconds(100 * 366 * 86_400))
    #expect(DispatchTime.now() < .distantFuture)
    await VirtualTime.current?.advance(by: .seconds(500 * 366 * 86_400))
    let end = DispatchTime.now()
    #expect(end < .distantFuture)
    await VirtualTime.current?.advance(by: .seconds(1))
    #expect(DispatchTime.now() == end)
  }
}

private func waitUntilNow() {
  _ = NSConditionLock(condition: 0).lock(whenCondition: 1, before: Date())
}
