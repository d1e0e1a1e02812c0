import Synchronization

/// What everything is compared with: a loop of continuations, a binary heap and a serial executor,
/// and nothing else. No lock, no owner, no list of what is pending.
///
/// Everything happens on one thread, that of `run`; nothing here is safe anywhere else.
final class Floor: TaskExecutor, @unchecked Sendable {
  private struct Entry {
    var deadline: Int64
    var number: Int64
    var slot: Int
  }

  private var jobs: [UnownedJob] = []
  private var nextJob = 0
  private var heap: [Entry] = []
  private var continuations: [UnsafeContinuation<Void, any Error>?] = []
  private var freeSlots: [Int] = []
  private var number: Int64 = 0
  private(set) var now: Int64 = 0

  func enqueue(_ job: UnownedJob) { jobs.append(job) }

  func enqueue(_ job: consuming ExecutorJob) { jobs.append(UnownedJob(job)) }

  /// Starts a task that runs here.
  func start(
    _ operation: sending @escaping @isolated(any) () async -> Void
  ) -> Task<Void, Never> {
    Task(executorPreference: self, operation: operation)
  }

  /// Runs jobs until none is ready.
  func settle() {
    let executor = asUnownedTaskExecutor()
    while nextJob < jobs.count {
      let job = jobs[nextJob]
      nextJob += 1
      job.runSynchronously(on: executor)
    }
    jobs.removeAll(keepingCapacity: true)
    nextJob = 0
  }

  /// Wakes every sleep in order, and runs what that sets going.
  func run() {
    settle()
    while let entry = pop() {
      now = entry.deadline
      if let continuation = continuations[entry.slot] {
        continuations[entry.slot] = nil
        freeSlots.append(entry.slot)
        continuation.resume()
        settle()
      } else {
        freeSlots.append(entry.slot)
      }
    }
  }

  /// Suspends the current task until `run` comes to `deadline`.
  func sleep(until deadline: Int64) async throws {
    try Task.checkCancellation()
    let slot = freeSlots.popLast() ?? continuations.count
    if slot == continuations.count { continuations.append(nil) }
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        continuations[slot] = continuation
        number += 1
        push(Entry(deadline: deadline, number: number, slot: slot))
      }
    } onCancel: {
      // The entry stays in the heap until its time has come.
      if let continuation = continuations[slot] {
        continuations[slot] = nil
        continuation.resume(throwing: CancellationError())
      }
    }
  }

  // MARK: - Tasks that are merely suspended

  private var kept: [UnsafeContinuation<Void, Never>] = []

  func keep(_ continuation: UnsafeContinuation<Void, Never>) { kept.append(continuation) }

  func resumeKept() {
    for continuation in kept { continuation.resume() }
    kept = []
    settle()
  }

  // MARK: - The heap

  private func comesFirst(_ lhs: Entry, _ rhs: Entry) -> Bool {
    lhs.deadline < rhs.deadline || (lhs.deadline == rhs.deadline && lhs.number < rhs.number)
  }

  private func push(_ entry: Entry) {
    heap.append(entry)
    var position = heap.count - 1
    while position > 0 {
      let parent = (position - 1) / 2
      guard comesFirst(entry, heap[parent]) else { break }
      heap[position] = heap[parent]
      position = parent
    }
    heap[position] = entry
  }

  private func pop() -> Entry? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    guard !heap.isEmpty else { return first }
    var position = 0
    while true {
      var child = position * 2 + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, comesFirst(heap[child + 1], heap[child]) { child += 1 }
      guard comesFirst(heap[child], last) else { break }
      heap[position] = heap[child]
      position = child
    }
    heap[position] = last
    return first
  }
}
