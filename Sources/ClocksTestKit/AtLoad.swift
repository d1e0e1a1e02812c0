#if os(Linux) && canImport(Glibc) && compiler(>=6.3)
  @_spi(TestKit) import Clocks

  // What a test binary needs before its first test. It is done at load, before there is a second
  // thread.
  @section(".init_array") @used
  private let atLoad: @convention(c) () -> Void = { RuntimeClocks.redirect() }
#endif
