#if os(Linux) && canImport(Glibc)
  /// The isolated deinits of objects that a test releases.
  ///
  /// If the actor of such a deinit is busy, or has a custom executor, the runtime enqueues a job there that belongs to
  /// no task. The test waits for it as for a block on a dispatch queue.
  enum IsolatedDeinits {
    private typealias Deinit = @convention(thin) (UnsafeMutableRawPointer) -> Void
    private typealias DeinitOnExecutor =
      @convention(thin) (UnsafeMutableRawPointer, Deinit, UnownedSerialExecutor, UInt) -> Void

    static var entry: CallTables.Entry { deinitOnExecutor.entry }

    /// Whether the runtime has the function. The compiler emits calls of it, so its parameters are fixed.
    static var areSeen: Bool { entry.isFound }

    private static let deinitOnExecutor: Interposed<DeinitOnExecutor> = Interposed(
      "swift_task_deinitOnExecutor"
    ) { object, body, executor, flags in
      guard
        !isDefaultActor(object, executor),
        !TaskOwnership.shared.isEmpty, let owner = ThreadContext.runningOwner
      else {
        return deinitOnExecutor.original(object, body, executor, flags)
      }
      let number = owner.workBegan(on: .isolatedDeinit)
      nonisolated(unsafe) let (object, body) = (object, body)
      let work = InternalWork.retained {
        // The thread runs a job for the owner already: the deinit's own job, if that has passed through the hooks (as
        // on the main actor), or the job that released the object. So the deinit needs no context of its own.
        if ThreadContext.runningOwner === owner {
          body(object)
          return owner.workEnded(number)
        }
        owner.asked(.outsideWork)
        DispatchedBlock.run(number, on: .isolatedDeinit, of: owner) { body(object) }
      }
      deinitOnExecutor.original(work, { InternalWork.run($0) }, executor, flags)
    }

    /// Whether the object is itself the default actor on which its deinit runs.
    ///
    /// No task can use it any more, so the runtime runs the deinit immediately, but only if it is given the object.
    private static func isDefaultActor(
      _ object: UnsafeMutableRawPointer, _ executor: UnownedSerialExecutor
    ) -> Bool {
      let reference = ExecutorWords(executor).reference
      return reference.object == UInt(bitPattern: object) && reference.table == 0
    }
  }
#endif
