/// The bank as its clients see it, for example by HTTP: a call may fail, and nothing says whether it was executed.
public protocol BankConnection: Sendable {
  func pay(_ payment: Payment) async throws -> Receipt
}

/// Pays, and tries again when there is no answer.
public struct PaymentClient: Sendable {
  private let bank: any BankConnection
  private let attempts: Int
  private let pause: Duration

  public init(
    bank: any BankConnection, attempts: Int = 5, pause: Duration = .milliseconds(50)
  ) {
    self.bank = bank
    self.attempts = attempts
    self.pause = pause
  }

  /// Throws the error of the last attempt. Less than one attempt counts as one.
  public func pay(_ payment: Payment) async throws -> Receipt {
    for attempt in 1..<max(attempts, 1) {
      do {
        return try await bank.pay(payment)
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        try await Task.sleep(for: pause * attempt)
      }
    }
    return try await bank.pay(payment)
  }
}
