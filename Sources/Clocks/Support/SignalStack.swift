import ClocksSupport

/// The stack on which signal handlers run that were installed with `SA_ONSTACK`.
enum SignalStack {
  /// Gives the current thread such a stack, unless it has one from here. The thread keeps it until it ends.
  static func prepareThread() {
    #if os(Linux) && canImport(Glibc)
      guard threadValue(key) == nil else { return }
      let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
      var stack = stack_t()
      stack.ss_sp = memory
      stack.ss_size = size
      guard sigaltstack(&stack, nil) == 0 else { return memory.deallocate() }
      setThreadValue(key, memory)
    #endif
  }

  #if os(Linux) && canImport(Glibc)
    /// In bytes. A report needs a small part of it.
    private static let size = 512 << 10

    /// The key of each thread's stack.
    private static let key = makeThreadKey { memory in
      var stack = stack_t()
      stack.ss_flags = CInt(SS_DISABLE)
      sigaltstack(&stack, nil)
      memory?.deallocate()
    }
  #endif
}
