/// What somebody wants from a scheduler when it is idle: to hear of it, or that time moves.
///
/// The scheduler asks for a step, does what the step says, runs until it is idle again, and asks
/// for the next, until the last.
protocol IdleRequest: AnyObject {
  /// The next step. Called with the scheduler's lock held.
  func step() -> IdleStep
}

/// One thing that an idle scheduler does.
enum IdleStep {
  /// Wakes a sleep, whose deadline is now; `isOwn` says whether its task is the scheduler's.
  case wake(UnsafeContinuation<Void, any Error>, isOwn: Bool)
  /// Tells whoever made the request that it is fulfilled.
  case finish(UnsafeContinuation<Void, Never>, isOwn: Bool)

  var isLast: Bool {
    switch self {
    case .wake: false
    case .finish: true
    }
  }

  /// Whether the task to be resumed is the scheduler's own.
  var isOwn: Bool {
    switch self {
    case .wake(_, let isOwn), .finish(_, let isOwn): isOwn
    }
  }

  /// Called without the lock.
  @inline(__always)
  func resume() {
    switch self {
    case .wake(let continuation, _): continuation.resume()
    case .finish(let continuation, _): continuation.resume()
    }
  }
}

/// Requests in order of arrival.
///
/// There are rarely more than a few; removing the first is amortized O(1) all the same.
struct RequestQueue {
  private var requests: [any IdleRequest] = []
  private var head = 0

  var isEmpty: Bool { head == requests.count }
  var first: (any IdleRequest)? { isEmpty ? nil : requests[head] }

  mutating func append(_ request: any IdleRequest) {
    requests.append(request)
  }

  mutating func removeFirst() {
    head += 1
    if head == requests.count {
      requests.removeAll(keepingCapacity: requests.count < 16)
      head = 0
    } else if head >= 32, head * 2 >= requests.count {
      requests.removeFirst(head)
      head = 0
    }
  }
}
