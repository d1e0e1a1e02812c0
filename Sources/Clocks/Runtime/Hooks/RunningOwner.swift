extension ThreadContext {
  /// The owner on whose behalf the current thread runs.
  ///
  /// It is that of the current task, which in an actor's queue may be another one than that of the
  /// thread: whoever sets the queue going also runs what others have left in it. A job that began
  /// before the door was opened has no context, but its task may be a test's.
  @inline(__always)
  static var runningOwner: TaskOwner? { owner(on: ThreadContext.current) }

  static func owner(on context: UnsafeMutablePointer<ThreadContext>?) -> TaskOwner? {
    guard let context else {
      return UnownedTask.currentID.flatMap { TaskOwnership.shared.owner(of: $0) }
    }
    let owner = context.pointee.owner
    guard let task = UnownedTask.currentID, task != context.pointee.taskID else { return owner }
    return TaskOwnership.shared.owner(of: task, on: owner)
  }
}
