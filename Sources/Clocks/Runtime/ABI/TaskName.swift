/// The name that a task was given, for whoever asks about a task that is not the current one.
///
/// The runtime has a function for the current task's name alone. A task's name stands among its status
/// records, a list to which only the task itself adds when it runs; the layout is that of Swift 6.3
/// (`TaskStatus.h` of the Swift runtime), and is tried here before it is believed.
enum TaskName {
  /// The name of a task that is in memory and does not run; `nil` if it has none, or where that is not
  /// known.
  static func of(_ job: UnownedJob) -> String? {
    isReadable ? read(job) : nil
  }

  /// Of the records only this kind is looked into.
  private static let kind: UInt8 = 6
  /// No task has more records than it is deep in scopes that add one.
  private static let mostRecords = 10_000

  private static func read(_ job: UnownedJob) -> String? {
    let task = unsafeBitCast(job, to: UnsafeRawPointer.self)
    var record = task.load(fromByteOffset: 104, as: UnsafeRawPointer?.self)
    for _ in 0..<mostRecords {
      guard let current = record else { return nil }
      if current.load(as: UInt8.self) == kind {
        let name = current.load(fromByteOffset: 16, as: UnsafePointer<CChar>?.self)
        return name.map { String(cString: $0) }
      }
      record = current.load(fromByteOffset: 8, as: UnsafeRawPointer?.self)
    }
    return nil
  }

  /// Whether the layout is known here: a task finds its own name.
  static let isReadable: Bool = {
    #if os(Linux) && compiler(>=6.2) && _pointerBitWidth(_64)
      guard TaskStatus.isReadable else { return false }
      guard #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) else {
        return false
      }
      let expected = "a task that finds its own name"
      nonisolated(unsafe) var found: String?
      _ = Task.immediate(name: expected) { @Sendable in
        found = UnownedTask.current.flatMap { read($0.job) }
      }
      return found == expected
    #else
      return false
    #endif
  }()
}
