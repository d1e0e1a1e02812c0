#if os(Linux) && canImport(Glibc)
  import Clocks
  import ClocksSupport

  // A test process prepares itself at load, before there is a second thread. A program that links the test
  // kit and runs no tests keeps its random hash seeds, and its clocks stay as they are.
  #if compiler(>=6.3)
    @section(".init_array") @used
  #elseif compiler(<6.3)
    @_section(".init_array") @_used
  #endif
  private let atLoad: @convention(c) (CInt, UnsafePointer<UnsafePointer<CChar>?>?) -> Void = {
    count, arguments in
    registerSwiftTesting()
    guard TestProcess.isCurrent(count, arguments), OwnCopy.preparesProcess else { return }
    Hashing.fixSeeds()
    RuntimeClocks.redirect()
    if Environment.everywhere != nil { EverywhereTests.begin() }
  }
#else
  // The initializer reads no arguments: the registration only stores functions.
  #if compiler(>=6.3)
    #if canImport(Darwin)
      @section("__DATA,__mod_init_func") @used
    #elseif canImport(CRT)
      @section(".CRT$XCU") @used
    #else
      @section(".init_array") @used
    #endif
  #elseif compiler(<6.3)
    #if canImport(Darwin)
      @_section("__DATA,__mod_init_func") @_used
    #elseif canImport(CRT)
      @_section(".CRT$XCU") @_used
    #else
      @_section(".init_array") @_used
    #endif
  #endif
  private let atLoad: @convention(c) () -> Void = { registerSwiftTesting() }
#endif
