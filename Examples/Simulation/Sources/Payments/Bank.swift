public struct Payment: Hashable, Sendable {
  /// Chosen by the client: a payment that is sent again has the same.
  public var id: String
  public var from: String
  public var to: String
  public var amount: Int

  public init(id: String, from: String, to: String, amount: Int) {
    self.id = id
    self.from = from
    self.to = to
    self.amount = amount
  }
}

public enum Receipt: Hashable, Sendable {
  case paid(String)
  case refused(String)
}

/// Executes each payment once, however often a client asks for it.
public actor Bank {
  private var balances: [String: Int]
  private var receipts: [String: Receipt] = [:]
  /// Payments that are being executed.
  private var pending: [String: Task<Receipt, any Error>] = [:]
  private let joinsPending: Bool
  private let screen: @Sendable (Payment) async throws -> Bool

  /// Opens a bank.
  ///
  /// - Parameters:
  ///   - joinsPending: Whether a repeated request waits for the payment that is being executed. Without this, two
  ///     requests for one payment that overlap are both executed.
  ///   - screen: Asks another service whether a payment is allowed.
  public init(
    balances: [String: Int], joinsPending: Bool = true,
    screen: @escaping @Sendable (Payment) async throws -> Bool
  ) {
    self.balances = balances
    self.joinsPending = joinsPending
    self.screen = screen
  }

  public func balance(of account: String) -> Int { balances[account] ?? 0 }

  public func pay(_ payment: Payment) async throws -> Receipt {
    if let receipt = receipts[payment.id] { return receipt }
    guard joinsPending else { return try await execute(payment) }
    if let task = pending[payment.id] { return try await task.value }
    let task = Task { try await execute(payment) }
    pending[payment.id] = task
    defer { pending[payment.id] = nil }
    return try await task.value
  }

  private func execute(_ payment: Payment) async throws -> Receipt {
    let isAllowed = try await screen(payment)
    let receipt: Receipt
    if isAllowed, balance(of: payment.from) >= payment.amount {
      balances[payment.from, default: 0] -= payment.amount
      balances[payment.to, default: 0] += payment.amount
      receipt = .paid(payment.id)
    } else {
      receipt = .refused(payment.id)
    }
    receipts[payment.id] = receipt
    return receipt
  }
}
