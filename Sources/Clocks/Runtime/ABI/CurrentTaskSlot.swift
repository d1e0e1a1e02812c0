import ClocksSupport

/// The variable in which the runtime notes the task that a thread runs.
/// Any thread may read the variable while its thread is known to be alive.
struct CurrentTaskSlot {
  private let place: UnsafePointer<UInt>

  /// The variable of the current thread; `nil` if its address is not known.
  static var ofThread: CurrentTaskSlot? {
    #if os(Linux) && canImport(Glibc) && _pointerBitWidth(_64)
      guard let distance,
        let place = UnsafePointer<UInt>(bitPattern: UInt(pthread_self()) &+ distance)
      else { return nil }
      return CurrentTaskSlot(place: place)
    #else
      return nil
    #endif
  }

  /// Returns whether the thread now runs a task other than the given one.
  func isAnother(than task: UnownedJob) -> Bool {
    let running = place.pointee
    return running != 0 && running != unsafeBitCast(task, to: UInt.self)
  }

  #if os(Linux) && canImport(Glibc) && _pointerBitWidth(_64)
    /// The distance of the variable from the beginning of the thread's own data.
    ///
    /// The distance is equal in all threads, because the runtime's library was loaded when the program began. It is
    /// verified on another thread with another task. `nil` if no distance fits, or more than one.
    static let distance: UInt? = {
      guard TaskStatus.isReadable else { return nil }
      let here = candidates()
      guard here.count == 1 else { return nil }
      nonisolated(unsafe) var there: [UInt] = []
      let hasRun = withUnsafeMutablePointer(to: &there) {
        let thread = InternalThread.start($0) { result in
          result?.assumingMemoryBound(to: [UInt].self).pointee = CurrentTaskSlot.candidates()
          return nil
        }
        guard let thread else { return false }
        return pthread_join(thread, nil) == 0
      }
      guard hasRun else { return nil }
      return here == there ? here[0] : nil
    }()

    /// The distances of the words, among this thread's variables, that hold the current task whenever there is one.
    private static func candidates() -> [UInt] {
      let runtime = LoadedImage.all(named: "libswift_Concurrency").first
      guard let found = runtime?.threadVariables else { return [] }
      nonisolated(unsafe) let variables = found
      let start = UInt(bitPattern: variables.baseAddress) &- UInt(pthread_self())
      var places = Set(variables.indices)
      for _ in 0..<2 {
        let before = Array(variables)
        nonisolated(unsafe) var during: [UInt] = []
        nonisolated(unsafe) var task: UInt = 0
        // An immediate task runs on this thread, so its address appears in this thread's variables.
        _ = Task.immediate { @Sendable in
          during = Array(variables)
          task = UnownedTask.current.map { unsafeBitCast($0.job, to: UInt.self) } ?? 0
        }
        guard task != 0, during.count == before.count else { return [] }
        places.formIntersection(
          during.indices.filter { during[$0] == task && before[$0] != task })
      }
      return places.sorted().map { start &+ UInt($0 * MemoryLayout<UInt>.stride) }
    }
  #endif
}
