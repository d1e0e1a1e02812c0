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

#if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
  /// A value and the mutex that guards it, in one allocation.
  ///
  /// The mutex is a pthread mutex and not `Synchronization.Mutex`: ThreadSanitizer on Linux does not understand that
  /// type, and would report races in every test suite that uses this module.
  ///
  /// `Clocks` has a lock of its own. This module is for production, so it does not import `Clocks`.
  struct Guarded<Value>: ~Copyable, @unchecked Sendable {
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

    deinit {
      pthread_mutex_destroy(&cell.pointee.mutex)
      cell.deinitialize(count: 1)
      cell.deallocate()
    }

    /// The value, read without the lock. Requires that no other thread can use it.
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
#else
  /// A value and the mutex that guards it, for systems without POSIX threads: Windows and WebAssembly.
  struct Guarded<Value>: ~Copyable, @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<Mutex<Void>>
    private let value: UnsafeMutablePointer<Value>

    init(_ value: Value) {
      mutex = .allocate(capacity: 1)
      mutex.initialize(to: Mutex(()))
      self.value = .allocate(capacity: 1)
      self.value.initialize(to: value)
    }

    deinit {
      mutex.deinitialize(count: 1)
      mutex.deallocate()
      value.deinitialize(count: 1)
      value.deallocate()
    }

    /// The value, read without the lock. Requires that no other thread can use it.
    var withoutLock: Value { value.pointee }

    func withLock<Result, Failure: Error>(
      _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
      // The mutex returns only values that can be sent to another thread, which `Result` need not be.
      var result: Result?
      try mutex.pointee.withLock { _ throws(Failure) in result = try body(&value.pointee) }
      return result!
    }
  }
#endif
