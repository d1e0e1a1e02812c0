import ClocksSupport
import Synchronization

#if canImport(Dispatch)
  import Dispatch
#endif

/// Writes the task dumps of all tests to standard error at each signal that `CLOCKS_DUMP_SIGNAL` names.
enum DumpSignal {
  private static let count = Atomic<Int>(0)

  static var written: Int { count.load(ordering: .relaxed) }

  /// Guards `dumps`. Rank `leaf`.
  private static let lock = Lock(.leaf)
  /// Returns the task dumps; `nil` before the process makes a clock or a scope.
  nonisolated(unsafe) private static var dumps: (@Sendable () -> String)?

  /// Begins to receive the signal, whose default action would end the process.
  ///
  /// - Parameter text: What the signal prints; `nil` changes nothing.
  static func start(printing text: (@Sendable () -> String)? = nil) {
    if let text { lock.withLock { dumps = text } }
    _ = source
  }

  #if !canImport(CRT) && !canImport(WASILibc)
    /// Stored only to keep the source alive.
    nonisolated(unsafe) private static let source = Environment.dumpSignal.map { number in
      // The source receives the signal although the process ignores it.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(
        signal: number, queue: .global(qos: .userInitiated))
      source.setEventHandler {
        let text = lock.withLock { dumps }?() ?? ""
        Terminal.writeLine(
          text.isEmpty ? "No test has a clock or a scope of virtual time." : text)
        count.add(1, ordering: .relaxed)
      }
      source.activate()
      return source
    }
  #else
    private static let source: Void = ()
  #endif
}
