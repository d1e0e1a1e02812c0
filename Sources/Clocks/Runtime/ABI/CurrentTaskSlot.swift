// Which task a thread runs, the runtime writes down in a variable of that thread. For the current
// thread it can be asked; for another one we look where that variable is.

#if os(Linux) && canImport(Glibc)
  import Glibc
#endif

/// The place where the runtime writes down which task a thread runs. It may be read as long as the
/// thread is known to be alive.
struct CurrentTaskSlot {
  private let place: UnsafePointer<UInt>

  /// That of the current thread; `nil` where it is not known.
  static var ofThread: CurrentTaskSlot? {
    #if os(Linux) && canImport(Glibc) && compiler(>=6.2) && _pointerBitWidth(_64)
      guard let distance = Self.distance,
        let place = UnsafePointer<UInt>(bitPattern: UInt(pthread_self()) &+ distance)
      else { return nil }
      return CurrentTaskSlot(place: place)
    #else
      return nil
    #endif
  }

  /// Whether the thread runs a task at this moment, and it is not the given one.
  func isAnother(than task: UnownedJob) -> Bool {
    let running = place.pointee
    return running != 0 && running != unsafeBitCast(task, to: UInt.self)
  }

  #if os(Linux) && canImport(Glibc) && compiler(>=6.2) && _pointerBitWidth(_64)
    /// How far the place is from where the thread's own data begin: the same for every thread, because
    /// the library was there when the program began.
    ///
    /// Looked for in the runtime's variables of this thread, and tried on another thread with another
    /// task. `nil` if it is not found, or if there is any doubt.
    static let distance: UInt? = {
      guard TaskStatus.isReadable else { return nil }
      let here = candidates()
      guard here.count == 1 else { return nil }
      // The same on another thread.
      nonisolated(unsafe) var there: [UInt] = []
      var thread = pthread_t()
      let body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { result in
        result?.assumingMemoryBound(to: [UInt].self).pointee = CurrentTaskSlot.candidates()
        return nil
      }
      guard withUnsafeMutablePointer(to: &there, { pthread_create(&thread, nil, body, $0) }) == 0
      else { return nil }
      pthread_join(thread, nil)
      return here == there ? here[0] : nil
    }()

    /// The distances at which a word of the runtime's variables of this thread names the current task
    /// whenever there is one.
    private static func candidates() -> [UInt] {
      guard let found = LoadedImage.all(named: "libswift_Concurrency").first?.threadVariables else {
        return []
      }
      nonisolated(unsafe) let variables = found
      guard #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) else {
        return []
      }
      let start = UInt(bitPattern: variables.baseAddress) &- UInt(pthread_self())
      var places = Set(variables.indices)
      for _ in 0..<2 {
        let before = Array(variables)
        nonisolated(unsafe) var during: [UInt] = []
        nonisolated(unsafe) var task: UInt = 0
        // It runs here and now.
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
