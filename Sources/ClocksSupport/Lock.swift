#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// A lock that guards state which its owner names.
///
/// A pthread mutex and not `Synchronization.Mutex`, because ThreadSanitizer on Linux does not
/// understand the latter and would report races in every test suite that uses this package.
///
/// Public, because the compiler does not inline package functions across modules.
public struct Lock: @unchecked Sendable {
  @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>

  public init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  /// Frees the lock; its owner calls this once, when nobody can hold it any more.
  public func destroy() {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  // Transparent, so that also a debug build calls no generic function.
  @_transparent
  public func withLock<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body()
  }
}
