// Imports the platform's C library for all files that import this module, and declares what Windows and WebAssembly
// lack of it.

#if canImport(Darwin)
  @_exported import Darwin
#elseif canImport(Glibc)
  @_exported import Glibc
#elseif canImport(Musl)
  @_exported import Musl
#elseif canImport(Android)
  @_exported import Android
#elseif canImport(CRT)
  @_exported import CRT
#elseif canImport(WASILibc)
  @_exported import WASILibc
#endif

#if canImport(CRT) || canImport(WASILibc)
  extension RealTime {
    private static let start = ContinuousClock.now

    /// The nanoseconds since the first reading. No scope makes this clock virtual, because nothing is interposed.
    static var sinceFirstReading: UInt64 {
      let (seconds, attoseconds) = start.duration(to: .now).components
      return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
  }
#endif

// A thread key identifies a pointer that has a separate value in each thread. The functions are public and transparent,
// so that even a debug build calls only the C library.

private let noKeyIsLeft = "Clocks: this process has used up all its thread-specific keys."

#if canImport(CRT)
  import WinSDK

  public typealias ThreadKey = DWORD
  public typealias ThreadEnd = (UnsafeMutableRawPointer) -> Void

  /// The closure is never called on this platform.
  package func makeThreadKey(_: ThreadEnd? = nil) -> ThreadKey {
    let key = TlsAlloc()
    // `TLS_OUT_OF_INDEXES`
    guard key != .max else { fatalError(noKeyIsLeft) }
    return key
  }

  package func threadValue(_ key: ThreadKey) -> UnsafeMutableRawPointer? { TlsGetValue(key) }

  package func setThreadValue(_ key: ThreadKey, _ value: UnsafeMutableRawPointer?) {
    _ = TlsSetValue(key, value)
  }
#elseif canImport(WASILibc)
  public typealias ThreadKey = Int
  public typealias ThreadEnd = (UnsafeMutableRawPointer) -> Void

  /// The values of the keys. In WebAssembly, Swift's tasks run on one thread, so the values need no lock.
  nonisolated(unsafe) private var threadValues: [UnsafeMutableRawPointer?] = []

  /// No thread ends on this platform.
  package func makeThreadKey(_: ThreadEnd? = nil) -> ThreadKey {
    threadValues.append(nil)
    return threadValues.count - 1
  }

  package func threadValue(_ key: ThreadKey) -> UnsafeMutableRawPointer? { threadValues[key] }

  package func setThreadValue(_ key: ThreadKey, _ value: UnsafeMutableRawPointer?) {
    threadValues[key] = value
  }
#else
  public typealias ThreadKey = pthread_key_t
  #if canImport(Darwin)
    public typealias ThreadEnd = @convention(c) (UnsafeMutableRawPointer) -> Void
  #else
    public typealias ThreadEnd = @convention(c) (UnsafeMutableRawPointer?) -> Void
  #endif

  /// - Parameter threadEnds: Called with a thread's value when the thread ends, unless the value is `nil`.
  package func makeThreadKey(_ threadEnds: ThreadEnd? = nil) -> ThreadKey {
    var key = pthread_key_t()
    guard pthread_key_create(&key, threadEnds) == 0 else { fatalError(noKeyIsLeft) }
    return key
  }

  @_transparent
  public func threadValue(_ key: ThreadKey) -> UnsafeMutableRawPointer? { pthread_getspecific(key) }

  @_transparent
  public func setThreadValue(_ key: ThreadKey, _ value: UnsafeMutableRawPointer?) {
    pthread_setspecific(key, value)
  }
#endif

// The functions below have the names of POSIX functions, so their callers need no `#if`.

#if canImport(CRT)
  func isatty(_ file: CInt) -> CInt { _isatty(file) }

  func mkdir(_ path: String, _ mode: CInt) -> CInt { _mkdir(path) }

  func write(_ file: CInt, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    Int(_write(file, bytes, CUnsignedInt(clamping: count)))
  }
#endif
