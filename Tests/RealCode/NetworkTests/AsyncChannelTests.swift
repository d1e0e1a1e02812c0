import Clocks
import ClocksTestKit
import NIOCore
import NIOPosix
import RealCodeSupport
import Testing

/// Tests a server and a client that are tasks of the test and use real sockets.
@Suite struct AsyncChannelTests {
  private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

  private let group = MultiThreadedEventLoopGroup.singleton

  /// Only the server sleeps. While bytes are in transit, no sleep is pending, so time cannot jump and
  /// `holding` is not needed.
  @Test(.virtualTime) func aServerThatTakesItsTime() async throws {
    let log = EventLog(on: .continuous)
    let server = try await ServerBootstrap(group: group)
      .bind(host: "127.0.0.1", port: 0) { channel in
        channel.eventLoop.makeCompletedFuture {
          try Connection(wrappingChannelSynchronously: channel)
        }
      }
    let serving = Task { try await Self.serve(server) }

    let port = try #require(server.channel.localAddress?.port)
    let connection = try await ClientBootstrap(group: group)
      .connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try Connection(wrappingChannelSynchronously: channel)
        }
      }
    try await connection.executeThenClose { inbound, outbound in
      var answers = inbound.makeAsyncIterator()
      for question in ["a", "b", "c"] {
        try await outbound.write(ByteBuffer(string: question))
        let answer = try #require(try await answers.next())
        log.add(String(buffer: answer))
      }
    }
    serving.cancel()
    _ = await serving.result
    #expect(log.all == ["2000 a", "4000 b", "6000 c"])
  }

  /// Returns the bytes that it receives after two seconds.
  private static func serve(_ server: NIOAsyncChannel<Connection, Never>) async throws {
    try await withThrowingDiscardingTaskGroup { group in
      try await server.executeThenClose { connections in
        for try await connection in connections {
          group.addTask {
            try? await connection.executeThenClose { inbound, outbound in
              for try await question in inbound {
                try await Task.sleep(for: .seconds(2))
                try await outbound.write(question)
              }
            }
          }
        }
      }
    }
  }
}
