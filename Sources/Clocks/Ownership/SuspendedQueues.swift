import ClocksSupport

/// The queues that are suspended or inactive. It does not matter who suspended or made them.
enum SuspendedQueues {
  struct State {
    var isInactive = false
    var suspensions = 0
    fileprivate var isStopped: Bool { isInactive || suspensions > 0 }
  }

  /// Guards `states`. Rank `leaf`.
  private static let lock = Lock(.leaf)
  /// The states of queues that are stopped, by address. Dispatch ends a process that frees such a queue.
  nonisolated(unsafe) private static var states: [UInt: State] = [:]

  static func contains(_ queue: BlockQueue) -> Bool {
    lock.withLock { states[queue.address] != nil }
  }

  /// Changes the state of a queue, and notifies the owners if its blocks can begin now, or no longer can.
  ///
  /// Each owner reads the newest state under its own lock. So two threads that suspend and resume a queue at the same
  /// time may notify the owners in either order.
  ///
  /// - Parameter queue: The queue with that address, which is evaluated only if owners are notified.
  static func change(
    _ address: UInt, _ body: (inout State) -> Void, queue: @autoclosure () -> BlockQueue
  ) {
    let hasChanged = lock.withLock {
      let former = states[address]
      var state = former ?? State()
      body(&state)
      states[address] = state.isStopped ? state : nil
      return (former != nil) != state.isStopped
    }
    guard hasChanged, !TaskOwnership.shared.isEmpty else { return }
    let queue = queue()
    for owner in TaskOwnership.shared.registeredOwners { owner.noteSuspension(of: queue) }
  }
}
