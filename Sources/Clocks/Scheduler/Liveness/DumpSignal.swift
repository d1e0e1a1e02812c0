import ClocksSupport
import Synchronization

#if canImport(Dispatch)
  import Dispatch
#endif

/// Writes the task dumps of all tests to standard error at each signal that `CLOCKS_DUMP_SIGNAL` names.
enum DumpSignal {
  private static let count = Atomic<Int>(0)

  static var written: Int { count.load(ordering: .relaxed) }

  static func start() { _ = source }

  #if !canImport(CRT) && !canImport(WASILibc)
    /// Stored only to keep the source alive.
    nonisolated(unsafe) private static let source = Environment.dumpSignal.map { number in
      // The signal is ignored, because its default action would end the process. The source still receives it.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(
        signal: number, queue: .global(qos: .userInitiated))
      source.setEventHandler {
        let text = text(of: Scheduler.all)
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

  static func text(of schedulers: [Scheduler]) -> String {
    schedulers.map { ($0, $0.place) }.sorted { "\($0.1)" < "\($1.1)" }.map { scheduler, place in
      let kind = scheduler.scope == nil ? "The test with the clock" : "The scope of virtual time"
      let origin =
        scheduler.scope?.options.testName.map { "of \($0)" }
        ?? "made at \(place.fileID):\(place.line)"
      return "\(kind) \(origin)\n\(scheduler.dumpText)"
    }.joined(separator: "\n\n")
  }
}
