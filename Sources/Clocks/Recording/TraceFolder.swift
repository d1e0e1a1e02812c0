import ClocksSupport
import Dispatch

/// The folder in which tests leave what happened in them.
enum TraceFolder {
  private struct Unfinished {
    weak var recorder: Recorder?
  }

  /// Guards what follows. Nothing is called while it is held.
  private static let lock = Lock(.leaf)
  /// How often each name has been given in this process.
  nonisolated(unsafe) private static var given: [String: Int] = [:]
  nonisolated(unsafe) private static var unfinished: [Unfinished]?
  nonisolated(unsafe) private static var hasWarned = false

  /// Writes a picture and its events. A name is given once in a process, so tests that run side by side
  /// do not write over each other's files; those of an earlier process are written over.
  static func write(_ timeline: RecordedTimeline, to folder: String, at origin: CallSite) {
    let path = "\(folder)/\(freeName(timeline.title.fileName))"
    do throws(TextFile.WriteError) {
      try TextFile.makeFolder(folder)
      try TextFile.write(timeline.svg, to: path + ".svg")
      try TextFile.write(timeline.traceEvents, to: path + ".json")
    } catch {
      // Once is enough: what is wrong with one file is wrong with all.
      let isFirst = lock.withLock {
        defer { hasWarned = true }
        return !hasWarned
      }
      if isFirst { warn("\(Environment.traceFolderName): \(error)", at: origin) }
    }
  }

  private static func freeName(_ name: String) -> String {
    // Some systems do not tell small letters from large ones.
    let key = name.lowercased()
    return lock.withLock {
      var count = given[key, default: 0] + 1
      var free = count == 1 ? name : "\(name)-\(count)"
      while count > 1, given[free.lowercased()] != nil {
        count += 1
        free = "\(name)-\(count)"
      }
      given[key] = count
      if count > 1 { given[free.lowercased()] = 1 }
      return free
    }
  }

  /// The recordings that have not been delivered: the process waits for those that other threads write
  /// when it comes to its end.
  private static let undelivered = DispatchGroup()
  private static let patience = DispatchTimeInterval.seconds(10)

  /// Sees to it that a recording is delivered at the end of the process, if its test is not over by
  /// then as far as anybody knows. Whoever delivers it says so with `hasDelivered`.
  static func deliverAtExit(_ recorder: Recorder) {
    undelivered.enter()
    let isFirst = lock.withLock {
      defer {
        var known = unfinished ?? []
        if known.count > 64 { known.removeAll { $0.recorder == nil } }
        unfinished = known + [Unfinished(recorder: recorder)]
      }
      return unfinished == nil
    }
    guard isFirst else { return }
    atexit { TraceFolder.deliverUnfinished() }
  }

  private static func deliverUnfinished() {
    let known = lock.withLock { unfinished } ?? []
    for entry in known { entry.recorder?.deliver() }
    _ = undelivered.wait(timeout: .now() + patience)
  }

  static func hasDelivered() { undelivered.leave() }
}

extension RecordedTimeline {
  /// Leaves the picture and the events in the folder of `CLOCKS_TRACE`, if there is one.
  package func leaveInTraceFolder() {
    if let folder = Environment.traceFolder { TraceFolder.write(self, to: folder, at: CallSite()) }
  }
}
