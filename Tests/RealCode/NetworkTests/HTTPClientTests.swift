#if HTTP_CLIENT
  import AsyncHTTPClient
  import Clocks
  import ClocksTestKit
  import NIOCore
  import NIOPosix
  import RealCodeSupport
  import Testing
  import TimeoutTask

  /// Tests the HTTP client that servers use, against a local server.
  @Suite struct HTTPClientTests {
    private let group = MultiThreadedEventLoopGroup.singleton

    @Test(.virtualTime(leftoverSleeps: .fail)) func triesAgain() async throws {
      let time = try #require(VirtualTime.current)
      let log = EventLog(on: .continuous)
      let server = try await LocalServer(on: group) { $0 < 4 ? .serviceUnavailable : .ok }
      let client = HTTPClient(eventLoopGroupProvider: .shared(group))
      for attempt in 0..<5 {
        if attempt > 0 { try await Task.sleep(for: .seconds(1 << (attempt - 1))) }
        let response = try await time.holding {
          try await client.execute(server.request, timeout: .seconds(60))
        }
        log.add("\(response.status.code)")
        if response.status == .ok { break }
      }
      #expect(log.all == ["0 503", "1000 503", "3000 503", "7000 200"])
      try await client.shutdown()
      try await server.close()
    }

    /// The timeout of the client takes real time.
    @Test(.virtualTime(leftoverSleeps: .fail)) func itsTimeoutIsReal() async throws {
      let time = try #require(VirtualTime.current)
      let server = try await LocalServer(on: group) { _ in nil }
      let client = HTTPClient(eventLoopGroupProvider: .shared(group))
      let before = NIODeadline.now()
      await #expect(throws: HTTPClientError.deadlineExceeded) {
        try await time.holding {
          try await client.execute(server.request, timeout: .milliseconds(50))
        }
      }
      #expect(NIODeadline.now() >= before + .milliseconds(50))
      #expect(time.now == .init())
      try await client.shutdown()
      try await server.close()
    }

    /// A timeout of `withTimeout` is virtual, and cancels the request.
    @Test(.virtualTime(leftoverSleeps: .fail)) func oursIsVirtual() async throws {
      let time = try #require(VirtualTime.current)
      let server = try await LocalServer(on: group) { _ in nil }
      let client = HTTPClient(eventLoopGroupProvider: .shared(group))
      await #expect(throws: TimeoutError.self) {
        try await withTimeout(.seconds(5)) {
          try await client.execute(server.request, timeout: .hours(1))
        }
      }
      #expect(time.now == .init(offset: .seconds(5)))
      try await client.shutdown()
      try await server.close()
    }
  }

  extension LocalServer {
    fileprivate var request: HTTPClientRequest {
      HTTPClientRequest(url: "http://127.0.0.1:\(port)/")
    }
  }
#endif
