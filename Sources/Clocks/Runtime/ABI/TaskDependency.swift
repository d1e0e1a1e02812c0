import Synchronization

extension TaskStatus {
  /// Whether a task waits for an `async let` of its own that runs, is enqueued, or has just come to its
  /// end.
  ///
  /// To be asked under a lock without which the waiting task is not resumed: what it waits for is in
  /// memory for as long. Layout: `TaskDependencyStatusRecord` of the Swift runtime.
  static func awaitsActiveAsyncLet(_ task: UnownedJob) -> Bool {
    let memory = unsafeBitCast(task, to: UnsafeRawPointer.self)
    let before = memory.load(fromByteOffset: 96, as: UInt32.self)
    guard before & 0x4000 != 0, before & 0x3800 == 0,
      let record = memory.load(fromByteOffset: 104, as: UnsafeRawPointer?.self)
    else { return false }
    let kind = record.load(fromByteOffset: 32, as: UInt32.self)
    let awaited = record.load(fromByteOffset: 16, as: UnownedJob?.self)
    atomicMemoryFence(ordering: .acquiring)
    // If it has been resumed meanwhile, it is about to come to the door.
    guard
      memory.load(fromByteOffset: 96, as: UInt32.self) == before,
      record.load(fromByteOffset: 32, as: UInt32.self) == kind
    else { return true }
    guard kind == 1, let awaited, isAsyncLet(awaited) else { return false }
    let status = TaskStatus(of: awaited)
    return status.isActive || status.isOver
  }
}
