import ClocksSupport

#if os(Linux) && canImport(Glibc)
  import Synchronization

  /// The dispatch sources that tests made.
  enum DispatchSourceRegistry {
    /// Guards `sources`. Rank `leaf`.
    private static let lock = Lock(.leaf)
    nonisolated(unsafe) private static var sources: [OpaquePointer: TestDispatchSource] = [:]
    { didSet { count.store(sources.count, ordering: .relaxed) } }
    /// The number of sources, which is read without the lock.
    private static let count = Atomic(0)

    static func add(_ known: TestDispatchSource, for source: OpaquePointer) {
      // A former source with this address is released without the lock.
      _ = lock.withLock { sources.updateValue(known, forKey: source) }
    }

    @_transparent
    static func find(_ source: OpaquePointer) -> TestDispatchSource? {
      guard count.load(ordering: .relaxed) > 0 else { return nil }
      return lock.withLock { sources[source] }
    }

    @_transparent
    static func remove(_ source: OpaquePointer) -> TestDispatchSource? {
      guard count.load(ordering: .relaxed) > 0 else { return nil }
      return lock.withLock { sources.removeValue(forKey: source) }
    }
  }
#endif
