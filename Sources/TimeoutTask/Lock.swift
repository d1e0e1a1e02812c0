#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// A lock that guards the state of one `TimeoutTask`.
///
/// A pthread mutex and not `Synchronization.Mutex`, because ThreadSanitizer on Linux does not
/// understand the latter and would report races in every test suite that uses this module.
///
/// `Clocks` has such a lock, too. This module imports nothing of ours, because programs use it in
/// production that have no business with a test clock; so it has its own.
struct Lock: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  /// Frees the lock; its owner calls this once, when nobody can hold it any more.
  func destroy() {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  @inline(__always)
  func withLock<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body()
  }
}

/// A value that is reached under a lock alone, both in one piece of memory.
struct Guarded<Value>: @unchecked Sendable {
  private struct Cell {
    var mutex = pthread_mutex_t()
    var value: Value
  }

  private let cell: UnsafeMutablePointer<Cell>

  init(_ value: Value) {
    cell = .allocate(capacity: 1)
    cell.initialize(to: Cell(value: value))
    pthread_mutex_init(&cell.pointee.mutex, nil)
  }

  /// Frees it; its owner calls this once, when nobody can reach it any more.
  func destroy() {
    pthread_mutex_destroy(&cell.pointee.mutex)
    cell.deinitialize(count: 1)
    cell.deallocate()
  }

  /// The value, where nobody else can reach it any more.
  var withoutLock: Value { cell.pointee.value }

  @inline(__always)
  func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(&cell.pointee.mutex)
    defer { pthread_mutex_unlock(&cell.pointee.mutex) }
    return try body(&cell.pointee.value)
  }
}
