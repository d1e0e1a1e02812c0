import Clocks

/// A value that tasks share.
actor Cell<Value: Sendable> {
  var value: Value
  init(_ value: Value) { self.value = value }
  func set(_ value: Value) { self.value = value }
  func change<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
    body(&value)
  }
}

/// Work that takes some hops, between other work.
func lookUp(_ hops: Int) async {
  let cell = Cell(0)
  for _ in 0..<hops { log("\(await cell.value)") }
}

/// A lock that tasks hold while they are suspended.
actor TaskLock {
  private var isHeld = false
  private var waiters: [UnsafeContinuation<Void, Never>] = []

  func lock() async {
    guard isHeld else {
      isHeld = true
      return
    }
    await withUnsafeContinuation { waiters.append($0) }
  }

  func unlock() {
    if waiters.isEmpty { isHeld = false } else { waiters.removeFirst().resume() }
  }
}

/// A channel as in Go; without capacity, a sender waits for a receiver.
actor Channel {
  private let capacity: Int
  private var values: [Int] = []
  private var isClosed = false
  private var receivers: [UnsafeContinuation<Int?, Never>] = []
  private var senders: [(value: Int, continuation: UnsafeContinuation<Void, Never>)] = []

  init(capacity: Int = 0) { self.capacity = capacity }

  func send(_ value: Int) async {
    if !receivers.isEmpty { return receivers.removeFirst().resume(returning: value) }
    if values.count < capacity { return values.append(value) }
    if isClosed { return }
    await withUnsafeContinuation { senders.append((value, $0)) }
  }

  /// Sends if a receiver waits, or if there is room.
  func offer(_ value: Int) -> Bool {
    if !receivers.isEmpty {
      receivers.removeFirst().resume(returning: value)
      return true
    }
    guard values.count < capacity else { return false }
    values.append(value)
    return true
  }

  func receive() async -> Int? {
    if !values.isEmpty {
      let value = values.removeFirst()
      if !senders.isEmpty {
        let sender = senders.removeFirst()
        values.append(sender.value)
        sender.continuation.resume()
      }
      return value
    }
    if !senders.isEmpty {
      let sender = senders.removeFirst()
      sender.continuation.resume()
      return sender.value
    }
    if isClosed { return nil }
    return await withUnsafeContinuation { receivers.append($0) }
  }

  func close() {
    isClosed = true
    for receiver in receivers { receiver.resume(returning: nil) }
    for sender in senders { sender.continuation.resume() }
    (receivers, senders) = ([], [])
  }
}
