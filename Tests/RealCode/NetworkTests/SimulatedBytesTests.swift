import Clocks
import ClocksTestKit
import NIOCore
import NIOEmbedded
import Testing

/// Splits bytes into lines.
private struct LineDecoder: ByteToMessageDecoder {
  typealias InboundOut = String

  func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) -> DecodingState {
    guard
      let length = buffer.readableBytesView.firstIndex(of: UInt8(ascii: "\n"))
        .map({ $0 - buffer.readerIndex }), let line = buffer.readString(length: length)
    else { return .needMoreData }
    buffer.moveReaderIndex(forwardBy: 1)
    context.fireChannelRead(wrapInboundOut(line))
    return .continue
  }
}

/// The handlers of a NIO channel in a search: bytes arrive in parts that the search chooses.
@Suite struct SimulatedBytesTests {
  @Test(.schedules(50)) func aDecoderTakesBytesInAnyParts() async throws {
    let (client, server) = SimulatedConnection.pair(
      in: try VirtualTime.required, latency: .milliseconds(1) ... .milliseconds(20))
    try await client.write(Array("first\nsecond\nthi".utf8))
    client.finish()

    let channel = EmbeddedChannel(handler: ByteToMessageHandler(LineDecoder()))
    var lines: [String] = []
    for try await chunk in server.chunks {
      try channel.writeInbound(ByteBuffer(bytes: chunk))
      while let line = try channel.readInbound(as: String.self) { lines.append(line) }
    }
    #expect(lines == ["first", "second"])
  }
}
