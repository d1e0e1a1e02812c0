import ClocksSupport

/// The actor on which the current task runs.
enum CurrentActor {
  private struct Executor {
    var identity: UnsafeRawPointer?
    var implementation: UInt
  }

  /// A Swift function value that has captured nothing, as its two words.
  private struct Function {
    var code: UnsafeMutableRawPointer
    var context: UnsafeRawPointer?
  }

  private struct GetExecutor { var call: () -> Executor }

  /// A function of the runtime's that is exported for the compiler's own use.
  nonisolated(unsafe) private static let getExecutor: GetExecutor? = {
    #if canImport(Darwin)
      // On arm64e the pointer would have to be signed.
      return nil
    #else
      guard let code = dlsym(dlopen(nil, RTLD_NOW), "swift_task_getCurrentExecutor") else {
        return nil
      }
      return unsafeBitCast(Function(code: code), to: GetExecutor.self)
    #endif
  }()

  /// The type of the actor, or of the executor if it is one of somebody's own; `nil` if the task runs on
  /// none, or if that is not known. O(1).
  static var type: AnyObject.Type? {
    guard let type = typeOfObject(getExecutor?.call().identity) else { return nil }
    return type == mainExecutor ? MainActor.self : type
  }

  /// The main actor's jobs run on this; known when the door is open.
  private static let mainExecutor: AnyObject.Type? = typeOfObject(
    unsafeBitCast(MainActor.sharedUnownedExecutor, to: Executor.self).identity)

  private static func typeOfObject(_ identity: UnsafeRawPointer?) -> AnyObject.Type? {
    identity.map { identity in
      Unmanaged<AnyObject>.fromOpaque(identity)._withUnsafeGuaranteedRef { Swift.type(of: $0) }
    }
  }
}
