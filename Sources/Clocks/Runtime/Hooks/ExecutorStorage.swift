import ClocksSupport

extension RuntimeHooks {
  /// Replaces the default executor where the runtime stores it, and returns whether that worked.
  ///
  /// The runtime's library has two neighbouring words for the executor, which have no exported name. They are
  /// found by their content, which a public getter returns. If several places have this content, the right
  /// one is the one that changes the getter's result. O(size of the library's data), some 10 KB.
  static func replaceDefaultExecutor() -> Bool {
    let prior = ExecutorWords(PriorExecutors.pool)
    let replacement = ExecutorWords(poolExecutor as any TaskExecutor)
    // Writing the words changes no retain count, so both executors are retained for ever.
    _ = Unmanaged.passRetained(PriorExecutors.pool as AnyObject)
    _ = Unmanaged.passRetained(poolExecutor)
    for data in LoadedImage.all(named: "libswift_Concurrency").flatMap(\.writableData) {
      let wordSize = MemoryLayout<UInt>.size
      for offset in stride(from: 0, through: data.count - 2 * wordSize, by: wordSize) {
        let place = (data.baseAddress! + offset).assumingMemoryBound(to: ExecutorWords.self)
        guard place.pointee == prior else { continue }
        place.pointee = replacement
        if globalConcurrentExecutor === poolExecutor { return true }
        place.pointee = prior
      }
    }
    return false
  }

  /// Replaces the methods of the main actor's executor, and returns whether that worked.
  ///
  /// This is for runtimes without a hook for it. An executor is an object and a table of methods. Every
  /// client of the protocol uses the table, so its order never changes: the conformance's description, the
  /// table of `Executor`, and three methods that enqueue a job.
  static func replaceMainMethods() -> Bool {
    // A custom executor must keep its methods: it would not receive the unowned jobs otherwise.
    guard
      PriorExecutors.areDispatch,
      let prior = ExecutorWords(MainActor.sharedUnownedExecutor).methods,
      let replacement = ExecutorWords(mainReference).methods
    else { return false }
    let methods = 2...4
    return ProtectedMemory.write(
      at: prior + methods.lowerBound, count: methods.count * MemoryLayout<UInt>.size,
      readOnly: LoadedImage.all.flatMap(\.readOnlyData)
    ) { _ in
      for method in methods { prior[method] = replacement[method] }
    }
  }
}
