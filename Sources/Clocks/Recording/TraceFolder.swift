import ClocksSupport
import Dispatch

/// The folder of `CLOCKS_TRACE`, into which tests write their timelines.
enum TraceFolder {
  private struct WeakRecorder {
    weak var recorder: Recorder?
  }

  /// Guards the properties below. No function is called under it.
  private static let lock = Lock(.leaf)
  /// The file names that were used in this process, each with the number that its last copy has.
  nonisolated(unsafe) private static var given: [String: Int] = [:]
  nonisolated(unsafe) private static var unfinished: [WeakRecorder]?
  nonisolated(unsafe) private static var hasWarned = false
  /// Its members are the recordings that have not been delivered.
  private static let undelivered = DispatchGroup()

  /// Writes a picture and a trace.
  ///
  /// Each name is used once in a process, so parallel tests do not overwrite each other's files. Files of
  /// earlier processes are overwritten.
  static func write(_ timeline: RecordedTimeline, to folder: String, at origin: CallSite) {
    let path = "\(folder)/\(freeName(timeline.title.fileName))"
    do throws(TextFile.WriteError) {
      try TextFile.makeFolder(folder)
      try TextFile.write(timeline.svg, to: path + ".svg")
      try TextFile.write(timeline.traceEvents, to: path + ".json")
    } catch {
      // One warning is enough: the cause is probably the same for all files.
      let isFirst = lock.withLock {
        defer { hasWarned = true }
        return !hasWarned
      }
      if isFirst { warn("\(Environment.traceFolderName): \(error)", at: origin) }
    }
  }

  private static func freeName(_ name: String) -> String {
    // Some file systems ignore case.
    let key = name.lowercased()
    return lock.withLock {
      var (free, count) = (name, given[key, default: 1])
      while given[free.lowercased()] != nil {
        count += 1
        free = "\(name)-\(count)"
      }
      given[free.lowercased()] = 1
      given[key] = count
      return free
    }
  }

  /// Delivers a recording when the process exits, unless that has happened before.
  ///
  /// The receiver calls `hasDelivered`. The exit waits for recordings that other threads are writing, up to
  /// 10 seconds.
  static func deliverAtExit(_ recorder: Recorder) {
    undelivered.enter()
    let isFirst = lock.withLock {
      defer {
        var known = unfinished ?? []
        if known.count > 64 { known.removeAll { $0.recorder == nil } }
        unfinished = known + [WeakRecorder(recorder: recorder)]
      }
      return unfinished == nil
    }
    guard isFirst else { return }
    atexit {
      let known = TraceFolder.lock.withLock { TraceFolder.unfinished } ?? []
      for entry in known { entry.recorder?.deliver() }
      _ = TraceFolder.undelivered.wait(timeout: .now() + .seconds(10))
    }
  }

  static func hasDelivered() { undelivered.leave() }
}

extension RecordedTimeline {
  /// Writes the timeline into the folder of `CLOCKS_TRACE`, if it is set.
  package func leaveInTraceFolder() {
    if let folder = Environment.traceFolder { TraceFolder.write(self, to: folder, at: CallSite()) }
  }
}
