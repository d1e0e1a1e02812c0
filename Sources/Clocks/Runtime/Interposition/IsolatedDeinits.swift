#if os(Linux) && canImport(Glibc)
  import ClocksSupport

  /// The isolated deinits of objects that a test releases.
  ///
  /// If the actor of such a deinit is busy, or has a custom executor, the runtime enqueues a job there that belongs to no
  /// task. The test waits for it as for a block on a dispatch queue.
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
      // A job on the main actor passes through the hooks.
      guard !TaskOwnership.shared.isEmpty, let owner = ThreadContext.runningOwner,
        !RuntimeHooks.isMainExecutor(executor)
      else { return deinitOnExecutor.original(object, body, executor, flags) }
      let pending = Pending(object: object, body: body, owner: owner)
      deinitOnExecutor.original(
        Unmanaged.passRetained(pending).toOpaque(),
        { Unmanaged<Pending>.fromOpaque($0).takeRetainedValue().run() }, executor, flags)
    }

    private final class Pending {
      private let object: UnsafeMutableRawPointer
      private let body: Deinit
      private let owner: TaskOwner
      private let number: UInt64

      init(object: UnsafeMutableRawPointer, body: Deinit, owner: TaskOwner) {
        (self.object, self.body, self.owner) = (object, body, owner)
        number = owner.workBegan(on: .isolatedDeinit)
      }

      func run() {
        if ThreadContext.runningOwner === owner {
          body(object)
          return owner.workEnded(number)
        }
        owner.asked(.outsideWork)
        DispatchedBlock.run(number, on: .isolatedDeinit, of: owner) { body(object) }
      }
    }
  }
#endif
