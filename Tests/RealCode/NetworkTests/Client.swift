import NIOCore
import NIOHTTP1
import NIOPosix

/// A client that retries a request to a local server if it is busy, after pauses that double.
struct Client<C: Clock<Duration>>: Sendable {
  struct Busy: Error {}
  struct TimedOut: Error {}
  typealias Request = @Sendable () async throws -> HTTPResponseStatus

  let port: Int
  let group: any EventLoopGroup
  let clock: C
  /// The time that the event loop waits for an answer.
  var timeout = TimeAmount.seconds(60)
  /// Runs each request. A test can hold time here.
  var sending: @Sendable (Request) async throws -> HTTPResponseStatus = { try await $0() }

  /// Sends up to `attempts` requests, and waits 1 s, 2 s, 4 s… between them.
  func ask(attempts: Int, onAttempt: @Sendable (HTTPResponseStatus) -> Void) async throws {
    for attempt in 0..<attempts {
      if attempt > 0 { try await clock.sleep(for: .seconds(1 << (attempt - 1))) }
      let status = try await sending { try await request() }
      onAttempt(status)
      if status == .ok { return }
    }
    throw Busy()
  }

  /// Sends a request on a new connection, and closes the connection on cancellation.
  func request() async throws -> HTTPResponseStatus {
    let loop = group.next()
    let answer = loop.makePromise(of: HTTPResponseStatus.self)
    let alarm = loop.scheduleTask(in: timeout) { answer.fail(TimedOut()) }
    defer { alarm.cancel() }
    let channel: any Channel
    do {
      channel = try await connect(on: loop, answer)
    } catch {
      answer.fail(error)
      throw error
    }
    // Either the answer or the end of the connection arrives first.
    let result = await withTaskCancellationHandler {
      await answer.futureResult.result()
    } onCancel: {
      channel.close(promise: nil)
    }
    try? await channel.close()
    try Task.checkCancellation()
    return try result.get()
  }

  /// Opens a connection and sends the request on it.
  private func connect(
    on loop: any EventLoop, _ answer: EventLoopPromise<HTTPResponseStatus>
  ) async throws -> any Channel {
    let channel = try await ClientBootstrap(group: loop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHTTPClientHandlers()
          try channel.pipeline.syncOperations.addHandler(Receiver(answer: answer))
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
    let head = HTTPRequestHead(
      version: .http1_1, method: .GET, uri: "/", headers: ["host": "127.0.0.1"])
    try await channel.writeAndFlush(HTTPClientRequestPart.head(head))
    try await channel.writeAndFlush(HTTPClientRequestPart.end(nil))
    return channel
  }

  private final class Receiver: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    let answer: EventLoopPromise<HTTPResponseStatus>

    init(answer: EventLoopPromise<HTTPResponseStatus>) {
      self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      if case .head(let head) = unwrapInboundIn(data) { answer.succeed(head.status) }
    }

    func channelInactive(context: ChannelHandlerContext) {
      answer.fail(ChannelError.eof)
    }
  }
}

extension EventLoopFuture where Value: Sendable {
  fileprivate func result() async -> Result<Value, any Error> {
    do { return .success(try await get()) } catch { return .failure(error) }
  }
}
