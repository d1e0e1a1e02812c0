import NIOCore
import NIOHTTP1
import NIOPosix

/// A local HTTP server.
struct LocalServer {
  let port: Int
  private let channel: any Channel

  /// Starts a server that answers each request with the status that `respond` returns.
  ///
  /// `respond` gets the number of the request, from 1. If it returns `nil`, there is no answer.
  init(
    on group: any EventLoopGroup,
    respond: @escaping @Sendable (_ request: Int) -> HTTPResponseStatus?
  ) async throws {
    // One thread accepts and answers, so the requests are counted in order.
    let loop = group.next()
    let requests = NIOLoopBoundBox.makeBoxSendingValue(0, eventLoop: loop)
    channel = try await ServerBootstrap(group: loop)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(
            Responder(requests: requests, respond: respond))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    port = channel.localAddress!.port!
  }

  func close() async throws { try await channel.close() }

  private final class Responder: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    let requests: NIOLoopBoundBox<Int>
    let respond: @Sendable (Int) -> HTTPResponseStatus?

    init(
      requests: NIOLoopBoundBox<Int>, respond: @escaping @Sendable (Int) -> HTTPResponseStatus?
    ) {
      self.requests = requests
      self.respond = respond
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard case .end = unwrapInboundIn(data) else { return }
      requests.value += 1
      guard let status = respond(requests.value) else { return }
      let head = HTTPResponseHead(
        version: .http1_1, status: status,
        headers: ["content-length": "0", "connection": "close"])
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
  }
}
