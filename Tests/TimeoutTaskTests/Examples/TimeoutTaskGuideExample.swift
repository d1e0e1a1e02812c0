import Clocks
import Testing
import TimeoutTask

// Each example in Docs/TimeoutTask.md is a part of a file in this folder, line for line.

/// A server of headlines and the weather.
struct Server: Sendable {
  var headlines: @Sendable () async throws -> [String]
  var weather: @Sendable () async throws -> String = { "sunny" }
}

struct Offline: Error {}

/// The front page of a newspaper, which must not make its readers wait for long.
actor FrontPage<C: Clock> where C.Duration == Duration {
  private let server: Server
  private let clock: C
  private(set) var headlines: [String] = []

  init(server: Server, clock: C = ContinuousClock()) {
    self.server = server
    self.clock = clock
  }

  /// Shows new headlines if there are any within three seconds.
  func refresh() async throws {
    let server = server
    headlines = try await TimeoutTask(timeout: .seconds(3), clock: clock, name: "load headlines") {
      try await server.headlines()
    }.value
  }
}

@Suite struct TimeoutTaskGuideExample {
  @Test func aSilentServerCausesATimeout() async throws {
    let clock = TestClock()
    let silent = Server {
      try await clock.sleep(for: .seconds(3600))
      return []
    }
    let page = FrontPage(server: silent, clock: clock)

    let refresh = Task { try await page.refresh() }
    await clock.advance(by: .seconds(3))
    await #expect(throws: TimeoutError(timeout: .seconds(3), operation: "load headlines")) {
      try await refresh.value
    }
    try await clock.checkSuspension()
  }

  @Test func anErrorOfTheServerIsThrownImmediately() async throws {
    let clock = TestClock()
    let page = FrontPage(server: Server { throw Offline() }, clock: clock)
    await #expect(throws: Offline.self) { try await page.refresh() }
  }

  @Test func headlinesThatComeInTimeAreShown() async throws {
    let clock = TestClock()
    let server = Server {
      try await clock.sleep(for: .seconds(2))
      return ["Clocks agree"]
    }
    let page = FrontPage(server: server, clock: clock)
    let refresh = Task { try await page.refresh() }
    await clock.advance(by: .seconds(2))
    try await refresh.value
    #expect(await page.headlines == ["Clocks agree"])
  }

  @Test func aTestThatAwaitsAStreamCannotHang() async throws {
    let (messages, continuation) = AsyncStream.makeStream(of: String.self)
    let firstFour = TimeoutTask(seconds: 60) {
      await messages.prefix(4).reduce(into: []) { $0.append($1) }
    }
    for message in ["3...", "2...", "1...", "Go!"] { continuation.yield(message) }
    #expect(try await firstFour.value == ["3...", "2...", "1...", "Go!"])
  }

  @Test func aLateResultNeedNotBeLost() async throws {
    let clock = TestClock()
    let cache = Cache()
    let server = Server {
      // Ignores cancellation, as code that wraps a callback often does.
      await withUnsafeContinuation { (answer: UnsafeContinuation<Void, Never>) in
        Task.detached {
          try? await clock.sleep(for: .seconds(5))
          answer.resume()
        }
      }
      return ["Better late than never"]
    }
    let task = TimeoutTask(timeout: .seconds(3), clock: clock) {
      try await server.headlines()
    } onLateResult: { result in
      if let headlines = try? result.get() { cache.store(headlines) }
    }
    await clock.advance(by: .seconds(5))
    await #expect(throws: TimeoutError.self) { try await task.value }
    #expect(cache.headlines == ["Better late than never"])
  }

  @Test func severalRequestsShareADeadline() async throws {
    let server = Server { ["Clocks agree"] }
    func page() async throws -> String {
      let deadline = ContinuousClock.now + .seconds(5)
      let headlines = try await withDeadline(deadline) { try await server.headlines() }
      let weather = try await withDeadline(deadline) { try await server.weather() }
      return "\(headlines[0]), and it is \(weather)."
    }
    #expect(try await page() == "Clocks agree, and it is sunny.")
  }

  @Test func aBodyMayUseValuesThatAreNotSendable() async throws {
    let clock = TestClock()
    let draft = Draft()
    try await withTimeout(.seconds(1), clock: clock) {
      draft.text += "Written in time."
    }
    #expect(draft.text == "Written in time.")
  }

  @Test func aBodyEndsInTimeIfItChecksForCancellation() async throws {
    let clock = TestClock()
    let task = Task {
      try await withTimeout(.seconds(3), clock: clock) {
        var pages = 0
        while !Task.isCancelled {
          try? await clock.sleep(for: .seconds(1))
          pages += 1
        }
        return pages
      }
    }
    await clock.advance(by: .seconds(60))
    #expect(try await task.value == 3)
  }
}

/// Not `Sendable`.
final class Draft {
  var text = ""
}

final class Cache: Sendable {
  private let log = Log<[String]>()
  var headlines: [String] { log.all.last ?? [] }
  func store(_ headlines: [String]) { log.add(headlines) }
}
