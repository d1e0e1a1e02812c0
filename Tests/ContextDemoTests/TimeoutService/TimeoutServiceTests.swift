import Clocks
import Testing
import TimeoutTask

@testable import ContextDemo

/// Tests the results of a service with a timeout, and the actor on which its handler runs.
///
/// The tests and the handler are isolated to the main actor.
@MainActor @Suite struct TimeoutServiceTests {
  let clock = TestClock()
  let record: Record

  init() {
    record = Record(clock)
  }

  /// Returns a service whose work takes a number of milliseconds.
  private func service(work milliseconds: Int) -> TimeoutService<String> {
    let (clock, record) = (clock, record)
    return TimeoutService(clock: clock) {
      await record.add("work", "begins")
      do {
        try await clock.sleep(for: .milliseconds(milliseconds))
      } catch {
        await record.add("work", "is cancelled")
        throw error
      }
      return "done"
    }
  }

  /// Records results and their times.
  private final class Handler {
    private(set) var calls: [EventLog.Event] = []
    let clock: TestClock<Duration>

    init(_ clock: TestClock<Duration>) {
      self.clock = clock
    }

    func callAsFunction(_ result: Result<String, any Error>) {
      let text =
        switch result {
        case .success(let value): value
        case .failure(let error): error is TimeoutError ? "timeout" : "\(error)"
        }
      calls.append(EventLog.Event(time: clock.now.offset, source: "handler", text: text))
    }
  }

  @Test func succeedsBeforeTheTimeout() async throws {
    let (service, handler) = (service(work: 1000), Handler(clock))
    service.start(timeout: .seconds(2)) { handler($0) }
    await clock.advance(by: .milliseconds(999))
    #expect(handler.calls == [])
    await clock.advance(by: .milliseconds(1))
    #expect(handler.calls == [.init(1000, "handler", "done")])
    // The timer is cancelled.
    try await clock.checkSuspension()
    await clock.advance(by: .seconds(10))
    #expect(handler.calls.count == 1)
    withExtendedLifetime(service) {}
  }

  @Test func failsAtExactlyTheTimeout() async throws {
    let (service, handler) = (service(work: 2000), Handler(clock))
    service.start(timeout: .seconds(1)) { handler($0) }
    await clock.advance(by: .nanoseconds(999_999_999))
    #expect(handler.calls == [])
    await clock.advance(by: .nanoseconds(1))
    #expect(handler.calls == [.init(1000, "handler", "timeout")])
    try await clock.checkSuspension()
    await clock.advance(by: .seconds(10))
    #expect(handler.calls.count == 1)
    #expect(
      await record.events == [.init(0, "work", "begins"), .init(1000, "work", "is cancelled")])
    withExtendedLifetime(service) {}
  }

  @Test func releaseSuppressesTheHandler() async throws {
    let handler = Handler(clock)
    var service: TimeoutService? = service(work: 1000)
    service?.start(timeout: .seconds(2)) { handler($0) }
    await clock.advance(by: .milliseconds(500))
    service = nil
    await clock.advance(by: .seconds(10))
    #expect(handler.calls == [])
    #expect(
      await record.events == [.init(0, "work", "begins"), .init(500, "work", "is cancelled")])
    #expect(service == nil)
  }

  /// The release happens after the work has ended and before the handler is called.
  @Test func releaseAfterTheWorkSuppressesTheHandler() async {
    @MainActor final class Owner {
      var service: TimeoutService<String>?
    }
    let (clock, record, handler, owner) = (clock, record, Handler(clock), Owner())
    owner.service = TimeoutService(clock: clock) {
      try await clock.sleep(for: .seconds(1))
      await record.add("work", "ends")
      // This task is ready before the one that calls the handler.
      Task { @MainActor in owner.service = nil }
      return "done"
    }
    owner.service?.start(timeout: .seconds(2)) { handler($0) }
    await clock.advance(by: .seconds(10))
    #expect(handler.calls == [])
    #expect(await record.events == [.init(1000, "work", "ends")])
    #expect(owner.service == nil)
  }

  @Test func startsAgainAfterSuccess() async throws {
    let (service, handler) = (service(work: 1000), Handler(clock))
    service.start(timeout: .seconds(2)) { handler($0) }
    await clock.advance(by: .seconds(5))
    service.start(timeout: .seconds(2)) { handler($0) }
    await clock.advance(by: .seconds(5))
    #expect(handler.calls == [.init(1000, "handler", "done"), .init(6000, "handler", "done")])
    withExtendedLifetime(service) {}
  }

  @Test func startsAgainAfterATimeout() async throws {
    let (service, handler) = (service(work: 1000), Handler(clock))
    service.start(timeout: .milliseconds(300)) { handler($0) }
    await clock.advance(by: .seconds(5))
    service.start(timeout: .seconds(2)) { handler($0) }
    await clock.advance(by: .seconds(5))
    #expect(handler.calls == [.init(300, "handler", "timeout"), .init(6000, "handler", "done")])
    withExtendedLifetime(service) {}
  }

  @Test func secondStartCancelsTheFirst() async throws {
    let service = service(work: 1000)
    let (first, second) = (Handler(clock), Handler(clock))
    service.start(timeout: .seconds(2)) { first($0) }
    await clock.advance(by: .milliseconds(500))
    service.start(timeout: .seconds(2)) { second($0) }
    await clock.advance(by: .seconds(10))
    #expect(first.calls == [])
    #expect(second.calls == [.init(1500, "handler", "done")])
    #expect(
      await record.events == [
        .init(0, "work", "begins"), .init(500, "work", "is cancelled"),
        .init(500, "work", "begins"),
      ])
  }

  @Test func asyncFunction() async throws {
    let service = service(work: 1000)
    let first = Task { try await service.run(timeout: .seconds(2)) }
    await clock.advance(by: .milliseconds(500))
    let second = Task { try await service.run(timeout: .milliseconds(300)) }
    await clock.settle()
    await #expect(throws: CancellationError.self) { try await first.value }
    await clock.advance(by: .milliseconds(300))
    try await clock.checkSuspension()
    await #expect(throws: TimeoutError(timeout: .milliseconds(300))) { try await second.value }
    #expect(clock.now.offset == .milliseconds(800))

    let third = Task { try await service.run(timeout: .seconds(2)) }
    await clock.advance(by: .seconds(1))
    try await clock.checkSuspension()
    #expect(try await third.value == "done")
  }

  @Test func timesOutAlthoughWorkIgnoresCancellation() async throws {
    let (clock, handler) = (clock, Handler(clock))
    let service = TimeoutService(clock: clock) {
      await Task { try? await clock.sleep(for: .seconds(60)) }.value
      return "late"
    }
    service.start(timeout: .seconds(1)) { handler($0) }
    await clock.advance(by: .seconds(100))
    #expect(handler.calls == [.init(1000, "handler", "timeout")])
    withExtendedLifetime(service) {}
  }

  // MARK: - Isolation of the handler

  /// Starts a service and handles its result.
  private actor Desk {
    private var service: TimeoutService<String>?
    private(set) var isHandledHere: Bool?

    func start(on clock: TestClock<Duration>) {
      service = TimeoutService(clock: clock) { "done" }
      service?.start(timeout: .seconds(1)) { _ in
        self.preconditionIsolated()
        self.isHandledHere = true
      }
    }
  }

  @Test func handlerRunsOnTheActorOfTheCaller() async throws {
    let desk = Desk()
    await desk.start(on: clock)
    await clock.settle()
    #expect(await desk.isHandledHere == true)

    var isHandledOnMain = false
    let service = TimeoutService(clock: clock) { "done" }
    service.start(timeout: .seconds(1)) { _ in
      MainActor.preconditionIsolated()
      isHandledOnMain = true
    }
    await clock.settle()
    #expect(isHandledOnMain)
  }
}
