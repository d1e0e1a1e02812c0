/// The baseline of all comparisons: the minimal clock whose sleeping tasks can be cancelled.
///
/// A sleep is a bare continuation with a cancellation handler in a binary heap. A ready job waits in
/// an array and runs on the default executor. There is no lock, no owner, no list of pending sleeps
/// and no check of the caller.
///
/// Its state is in unmanaged memory, because access to the properties of an object is checked.
/// Everything happens on one thread, in the calls of `start`, `settle`, `run`, `runTest` and `capture`.
final class Floor: @unchecked Sendable {
  private struct Entry {
    var deadline: Int64
    var number: Int64
    var slot: Int
  }

  private typealias Sleep = UnsafeContinuation<Void, any Error>

  private struct State {
    var heap = GrowingArray<Entry>()
    /// The continuation of each sleep, or `nil` after its end.
    var sleeps = GrowingArray<Sleep?>()
    var freeSlots = GrowingArray<Int>()
    var number: Int64 = 0
    var kept = GrowingArray<UnsafeContinuation<Void, Never>>()
    /// The task in `advance`, and the deadline that it waits for.
    var advancing: (continuation: UnsafeContinuation<Void, Never>, deadline: Int64)?
  }

  private let state: UnsafeMutablePointer<State>

  init() {
    state = .allocate(capacity: 1)
    state.initialize(to: State())
  }

  deinit {
    state.pointee.heap.free()
    state.pointee.sleeps.free()
    state.pointee.freeSlots.free()
    state.pointee.kept.free()
    state.deallocate()
  }

  /// Starts a task whose jobs the floor runs.
  func start(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    capture { Task.detached(operation: operation) }
  }

  /// Collects the jobs that `body` makes ready, to run them later.
  func capture<Result>(_ body: () -> Result) -> Result {
    ReadyJobs.capture(body)
  }

  /// Runs jobs until no job is ready.
  func settle() { capture { ReadyJobs.run() } }

  /// Wakes all sleeps in order, and runs the jobs that become ready.
  func run() {
    capture {
      ReadyJobs.run()
      while let entry = pop() {
        wake(entry)
        ReadyJobs.run()
      }
    }
  }

  private func wake(_ entry: Entry) {
    state.pointee.freeSlots.append(entry.slot)
    // A cancelled sleep stays in the heap until its deadline.
    guard let sleep = state.pointee.sleeps[entry.slot] else { return }
    state.pointee.sleeps[entry.slot] = nil
    sleep.resume()
  }

  /// Suspends the current task until `runTest` has woken all sleeps until `deadline`.
  func advance(to deadline: Int64) async {
    await withUnsafeContinuation { state.pointee.advancing = ($0, deadline) }
  }

  /// Runs a test that calls `advance`, and all tasks that it starts, until none of them can continue.
  func runTest(_ test: @escaping @Sendable () async -> Void) {
    _ = start(test)
    capture {
      ReadyJobs.run()
      while let (test, deadline) = state.pointee.advancing {
        if let next = state.pointee.heap.first, next.deadline <= deadline {
          wake(pop()!)
        } else {
          state.pointee.advancing = nil
          test.resume()
        }
        ReadyJobs.run()
      }
    }
  }

  /// Suspends the current task until `run` reaches `deadline`.
  func sleep(until deadline: Int64) async throws {
    let slot = state.pointee.freeSlots.popLast() ?? newSlot()
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        state.pointee.sleeps[slot] = continuation
        state.pointee.number += 1
        push(Entry(deadline: deadline, number: state.pointee.number, slot: slot))
      }
    } onCancel: {
      guard let sleep = state.pointee.sleeps[slot] else { return }
      state.pointee.sleeps[slot] = nil
      sleep.resume(throwing: CancellationError())
    }
  }

  private func newSlot() -> Int {
    state.pointee.sleeps.append(nil)
    return state.pointee.sleeps.count - 1
  }

  // MARK: - Suspended tasks without a deadline

  /// Stores the continuation of a task. The number is not needed: a task captures it, as a sleeping task its deadline.
  func keep(_ continuation: UnsafeContinuation<Void, Never>, _ number: Int = 0) {
    precondition(number >= 0)
    state.pointee.kept.append(continuation)
  }

  /// Resumes the stored continuations, one at a time.
  func resumeKept() {
    capture {
      while let continuation = state.pointee.kept.popLast() {
        continuation.resume()
        ReadyJobs.run()
      }
    }
  }

  // MARK: - The heap

  private func comesFirst(_ lhs: Entry, _ rhs: Entry) -> Bool {
    lhs.deadline < rhs.deadline || (lhs.deadline == rhs.deadline && lhs.number < rhs.number)
  }

  private func push(_ entry: Entry) {
    state.pointee.heap.append(entry)
    let heap = state.pointee.heap.elements
    var position = state.pointee.heap.count - 1
    while position > 0 {
      let parent = (position - 1) / 2
      guard comesFirst(entry, heap[parent]) else { break }
      heap[position] = heap[parent]
      position = parent
    }
    heap[position] = entry
  }

  private func pop() -> Entry? {
    guard let last = state.pointee.heap.popLast() else { return nil }
    let count = state.pointee.heap.count
    guard count > 0 else { return last }
    let heap = state.pointee.heap.elements
    let first = heap[0]
    var position = 0
    while true {
      var child = position * 2 + 1
      guard child < count else { break }
      if child + 1 < count, comesFirst(heap[child + 1], heap[child]) { child += 1 }
      guard comesFirst(heap[child], last) else { break }
      heap[position] = heap[child]
      position = child
    }
    heap[position] = last
    return first
  }
}

/// An unchecked array of trivial values, which the owner frees.
struct GrowingArray<Element: BitwiseCopyable> {
  private(set) var elements = UnsafeMutablePointer<Element>.allocate(capacity: 64)
  private(set) var count = 0
  private var capacity = 64

  var first: Element? { count > 0 ? elements[0] : nil }

  subscript(position: Int) -> Element {
    get { elements[position] }
    nonmutating set { elements[position] = newValue }
  }

  mutating func append(_ element: Element) {
    if count == capacity { grow() }
    elements[count] = element
    count += 1
  }

  mutating func popLast() -> Element? {
    guard count > 0 else { return nil }
    count -= 1
    return elements[count]
  }

  mutating func removeAll() { count = 0 }

  @inline(never)
  private mutating func grow() {
    let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
    larger.update(from: elements, count: count)
    elements.deallocate()
    elements = larger
    capacity *= 2
  }

  mutating func free() { elements.deallocate() }
}
