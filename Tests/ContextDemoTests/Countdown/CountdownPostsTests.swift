import Clocks
import ClocksTestKit
import Foundation
import Testing
import TimeoutTask

@testable import ContextDemo

/// Tests the countdown through `URLSession`, with a stub as the server.
@Suite struct CountdownPostsTests {
  let server = StubServer()

  /// No clock is injected: the model sleeps with `Task.sleep`.
  @Test(.virtualTime) func fourPostsInOrder() async throws {
    let chat = ChatClient(server: server.url, http: server.http)
    let model = CountdownModel(say: chat.say)

    async let countdown: Void = model.countdown(to: "Hello")
    async let lines = TimeoutTask(seconds: 10) { [server] in
      await server.requests.prefix(4).compactMap(\.line).reduce(into: []) { $0.append($1) }
    }.value

    #expect(try await lines == ["3...", "2...", "1...", "Hello"])
    try await countdown
    #expect(VirtualTime.current?.now.offset == .seconds(3))
  }

  @Test(.virtualTime) func fifthPostTimesOut() async throws {
    let chat = ChatClient(server: server.url, http: server.http)
    let model = CountdownModel(say: chat.say)

    async let countdown: Void = model.countdown(to: "Hello")
    let lines = TimeoutTask(seconds: 10) { [server] in
      await server.requests.prefix(5).compactMap(\.line).reduce(into: []) { $0.append($1) }
    }

    await #expect(throws: TimeoutError(timeout: .seconds(10))) { try await lines.value }
    #expect(VirtualTime.current?.now.offset == .seconds(10))
    try await countdown
  }

  /// Advances an injected clock step by step.
  @Test func stepByStep() async throws {
    let clock = TestClock()
    let chat = ChatClient(server: server.url, http: server.http)
    var model = CountdownModel(say: chat.say)
    model.sleep = clock.sleep(nanoseconds:)
    let countdown = Task { [model] in try await model.countdown(to: "Hello") }

    var requests = server.requests.makeAsyncIterator()
    for line in ["3...", "2...", "1..."] {
      // The model sleeps after the answer, which may arrive on a thread that the clock cannot see.
      try await clock.waitForSleeps(atLeast: 1)
      #expect(await requests.next()?.line == line)
      await clock.advance(by: .seconds(1))
    }
    #expect(await requests.next()?.line == "Hello")
    try await countdown.value
    #expect(clock.now.offset == .seconds(3))
  }

  @Test(.virtualTime) func rejectionByTheServerEndsIt() async throws {
    let server = StubServer { $0.line == "2..." ? .init(status: 503) : .init() }
    let chat = ChatClient(server: server.url, http: server.http)
    let model = CountdownModel(say: chat.say)

    await #expect(throws: HTTPError(status: 503)) { try await model.countdown(to: "Hello") }
    #expect(VirtualTime.current?.now.offset == .seconds(1))
  }
}
