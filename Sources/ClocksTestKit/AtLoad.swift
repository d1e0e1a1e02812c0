#if os(Linux) && canImport(Glibc) && compiler(>=6.3)
  // What a test binary needs before its first test. It is done at load, before there is a second
  // thread.
  @section(".init_array") @used
  private let atLoad: @convention(c) () -> Void = { FrozenClocks.install() }
#endif
