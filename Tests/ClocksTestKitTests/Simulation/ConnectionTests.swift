import Clocks
import ClocksTestKit
import Testing

/// Bytes outside a search.
@Suite struct ConnectionTests {
  private let time: VirtualTime
  private let client: SimulatedConnection
  private let server: SimulatedConnection

  init() throws {
    time = try VirtualTime.required
    (client, server) = SimulatedConnection.pair(
      in: time, latency: .milliseconds(10) ... .milliseconds(40), breaks: true)
  }

  /// Notes the chunks that come, and when, in milliseconds.
  private func chunks(_ end: SimulatedConnection) -> Log<String> {
    let log = Log<String>()
    Task { [time] in
      func note(_ text: String) { log.add("\(time.now.offset / .milliseconds(1)) \(text)") }
      do {
        for try await chunk in end.chunks { note("\(chunk)") }
        note("end")
      } catch {
        note("\(type(of: error))")
      }
    }
    return log
  }

  @Test(.virtualTime) func bytesArriveInOrderAfterTheLeastLatency() async throws {
    let log = chunks(server)
    try await client.write([1, 2])
    await time.advance(by: .milliseconds(5))
    try await client.write([3])
    try await client.write([])
    client.finish()
    await #expect(throws: ConnectionLostError.self) { try await client.write([4]) }
    await time.advance(by: .seconds(1))
    #expect(log.all == ["10.0 [1, 2]", "15.0 [3]", "15.0 end"])
  }

  @Test(.virtualTime) func aChunkHasAllThatHasArrived() async throws {
    try await client.write([1, 2])
    try await client.write([3])
    await time.advance(by: .milliseconds(20))
    let log = chunks(server)
    await time.settle()
    #expect(log.all == ["20.0 [1, 2, 3]"])
  }

  @Test(.virtualTime) func aConnectionCanBeLostAfterAnEnd() async throws {
    let log = chunks(server)
    try await client.write([1])
    client.finish()
    await time.advance(by: .seconds(1))
    #expect(log.all == ["10.0 [1]", "10.0 end"])
    try await server.write([2])
    client.disconnect()
    await #expect(throws: ConnectionLostError.self) { try await client.write([3]) }
    await time.advance(by: .seconds(1))
    await #expect(throws: ConnectionLostError.self) { try await server.write([4]) }
    #expect(await chunksAfterNow(server) == ["ConnectionLostError"])
    #expect(await chunksAfterNow(client) == ["ConnectionLostError"])
  }

  @Test(.virtualTime) func anEndThatWasReadDoesNotHideTheOwnDisconnect() async throws {
    server.finish()
    await time.advance(by: .seconds(1))
    client.disconnect()
    #expect(await chunksAfterNow(client) == ["ConnectionLostError"])
    await #expect(throws: ConnectionLostError.self) { try await client.write([1]) }
    client.finish()
    await time.advance(by: .seconds(1))
    #expect(await chunksAfterNow(server) == ["ConnectionLostError"])
  }

  /// Returns the chunks that `end` receives until the test is idle, without their times.
  private func chunksAfterNow(_ end: SimulatedConnection) async -> [String] {
    let log = chunks(end)
    await time.settle()
    return log.all.map { String($0.split(separator: " ", maxSplits: 1)[1]) }
  }

  @Test(.virtualTime) func eachEndHasItsOwnDirection() async throws {
    let (questions, answers) = (chunks(server), chunks(client))
    try await client.write([1])
    client.finish()
    await time.advance(by: .milliseconds(10))
    try await server.write([2])
    await time.advance(by: .seconds(1))
    #expect(questions.all == ["10.0 [1]", "10.0 end"])
    #expect(answers.all == ["20.0 [2]"])
  }

  @Test(.virtualTime) func aLostConnectionIsKnownAfterTheBytesOnTheirWay() async throws {
    let (atServer, atClient) = (chunks(server), chunks(client))
    try await client.write([1])
    await time.advance(by: .milliseconds(2))
    client.disconnect()
    await #expect(throws: ConnectionLostError.self) { try await client.write([2]) }
    // The server cannot know yet.
    try await server.write([3])
    await time.advance(by: .seconds(1))
    await #expect(throws: ConnectionLostError.self) { try await server.write([4]) }
    await #expect(throws: ConnectionLostError.self) {
      for try await _ in server.chunks {}
    }
    #expect(atServer.all == ["10.0 [1]", "12.0 ConnectionLostError"])
    #expect(atClient.all == ["2.0 ConnectionLostError"])
  }

  @Test(.virtualTime) func aCancelledReadLosesNothing() async throws {
    let read = Task {
      var chunks = server.chunks.makeAsyncIterator()
      return try await chunks.next()
    }
    await time.settle()
    read.cancel()
    await #expect(throws: CancellationError.self) { try await read.value }
    try await client.write([1])
    var chunks = server.chunks.makeAsyncIterator()
    #expect(try await chunks.next() == [1])
    let write = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await client.write([2])
    }
    await #expect(throws: CancellationError.self) { try await write.value }
    client.finish()
    #expect(try await chunks.next() == nil)
    #expect(try await chunks.next() == nil)
  }

  @Test(.virtualTime) func anEndThatIsFreedLeavesNothing() async throws {
    var ends: (SimulatedConnection, SimulatedConnection)? = SimulatedConnection.pair(
      in: time, latency: .zero ... .zero)
    weak let first = ends?.0
    weak let second = ends?.1
    try await ends?.0.write([1])
    await time.settle()
    ends = nil
    #expect(first == nil && second == nil)
  }
}
