import Clocks
import ClocksTestKit

/// What calls send over a network.
public enum Call<Request: Sendable, Answer: Sendable>: Sendable {
  case request(number: Int, Request)
  case answer(number: Int, Answer)
}

/// Says that no answer has come in time. The request may have been executed or not.
public struct NoAnswerError: Error, Hashable {}

extension SimulatedNetwork {
  /// Answers the requests that come to a node, several at the same time. Sends nothing if `answer` throws. Ends with
  /// an error if an answer cannot be sent.
  public func serve<Request, Answer>(
    on node: String, _ answer: @escaping @Sendable (Request) async throws -> Answer
  ) async throws where Message == Call<Request, Answer> {
    try await withThrowingDiscardingTaskGroup { group in
      for await message in inbox(of: node) {
        // The group is cancelled if an answer could not be sent.
        if group.isCancelled { break }
        guard case .request(let number, let request) = message.payload else { continue }
        group.addTask {
          guard let answer = try? await answer(request) else { return }
          try await self.send(.answer(number: number, answer), from: node, to: message.sender)
        }
      }
    }
  }
}

/// The side of calls that waits for answers, as a client of a real network has it.
public actor Caller<Request: Sendable, Answer: Sendable> {
  private let net: SimulatedNetwork<Call<Request, Answer>>
  private let node: String
  private let server: String
  private let timeout: Duration
  private var numbers = 0
  private var waiting: [Int: CheckedContinuation<Answer, any Error>] = [:]

  public init(
    on net: SimulatedNetwork<Call<Request, Answer>>, from node: String, to server: String,
    timeout: Duration
  ) {
    self.net = net
    self.node = node
    self.server = server
    self.timeout = timeout
  }

  /// Takes the answers until the node crashes.
  public func run() async {
    for await message in net.inbox(of: node) {
      guard case .answer(let number, let answer) = message.payload else { continue }
      waiting.removeValue(forKey: number)?.resume(returning: answer)
    }
    for number in waiting.keys.sorted() { fail(number, with: NoAnswerError()) }
  }

  /// Sends a request, and returns its answer. Throws ``NoAnswerError`` if none comes in time.
  public func call(_ request: Request) async throws -> Answer {
    numbers += 1
    let number = numbers
    let timer = Task {
      do {
        try await net.send(.request(number: number, request), from: node, to: server)
        try await Task.sleep(for: timeout)
        fail(number, with: NoAnswerError())
      } catch {
        fail(number, with: error)
      }
    }
    defer { timer.cancel() }
    return try await withTaskCancellationHandler {
      // The timer runs on this actor, so it starts after the continuation has been stored.
      try await withCheckedThrowingContinuation { waiting[number] = $0 }
    } onCancel: {
      // The sleep of the timer throws, and so the call does.
      timer.cancel()
    }
  }

  private func fail(_ number: Int, with error: any Error) {
    waiting.removeValue(forKey: number)?.resume(throwing: error)
  }
}
