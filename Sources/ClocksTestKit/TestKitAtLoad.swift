#if os(Linux) && canImport(Glibc)
  import Clocks

  // What a test binary needs before its first test. It is done at load, before there is a second
  // thread.
  #if compiler(>=6.3)
    @section(".init_array") @used
  #elseif compiler(<6.3)
    @_section(".init_array") @_used
  #endif
  private let atLoad: @convention(c) () -> Void = {
    Hashing.fixSeeds()
    RuntimeClocks.redirect()
    IssueGates.install = withIssues
    TimelineAttachments.register()
  }
#endif
