#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#else
  import Synchronization
#endif

/// A value and the mutex that guards it, in one allocation.
///
/// The mutex is a pthread mutex where there are POSIX threads: ThreadSanitizer on Linux does not understand
/// `Synchronization.Mutex`, and would report races in every test suite that uses this module.
///
/// `ClocksSupport` has a lock, too. This module does not use it, because it depends on no other module of the package.
struct Guarded<Value>: ~Copyable, @unchecked Sendable {
  private struct Cell: ~Copyable {
    #if canImport(CRT) || canImport(WASILibc)
      let mutex = Mutex(())
    #else
      var mutex = pthread_mutex_t()
    #endif
    var value: Value
  }

  private let cell: UnsafeMutablePointer<Cell>

  init(_ value: Value) {
    cell = .allocate(capacity: 1)
    cell.initialize(to: Cell(value: value))
    #if !canImport(CRT) && !canImport(WASILibc)
      pthread_mutex_init(&cell.pointee.mutex, nil)
    #endif
  }

  deinit {
    #if !canImport(CRT) && !canImport(WASILibc)
      pthread_mutex_destroy(&cell.pointee.mutex)
    #endif
    cell.deinitialize(count: 1)
    cell.deallocate()
  }

  /// The value, read without the lock. Requires that no other thread can use it.
  var withoutLock: Value { cell.pointee.value }

  @inline(__always)
  func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    #if canImport(CRT) || canImport(WASILibc)
      // `Mutex.withLock` returns only values that can be sent to another thread.
      cell.pointee.mutex._unsafeLock()
      defer { cell.pointee.mutex._unsafeUnlock() }
    #else
      pthread_mutex_lock(&cell.pointee.mutex)
      defer { pthread_mutex_unlock(&cell.pointee.mutex) }
    #endif
    return try body(&cell.pointee.value)
  }
}
