import ClocksSupport

#if canImport(Darwin) || canImport(Glibc)
  // A test process installs the hooks at load, before it has a second thread. So every job that can create a clock
  // passes through the hooks. All other processes install them when they first make a clock or a scope, or ask for the
  // capability. The C libraries of Apple and of GNU pass the arguments of the process to initializers. Others (Musl)
  // pass none, so reading the arguments there would read arbitrary memory.

  #if compiler(>=6.3)
    #if canImport(Darwin)
      @section("__DATA,__mod_init_func") @used
    #else
      @section(".init_array") @used
    #endif
  #elseif compiler(<6.3)
    #if canImport(Darwin)
      @_section("__DATA,__mod_init_func") @_used
    #else
      @_section(".init_array") @_used
    #endif
  #endif
  private let installAtLoad:
    @convention(c) (
      CInt, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<UnsafePointer<CChar>?>?
    ) -> Void = { count, arguments, environment in
      UsageFailure.reportToTests()
      guard TestProcess.isCurrent(count, arguments), OwnCopy.preparesProcess else { return }
      Environment.check(environment)
      _ = Environment.isExitTest
      Hashing.fixSeeds()
      #if os(Linux)
        ProcFileSystem.noteInheritedSockets()
      #endif
      RuntimeHooks.installAtLoad()
      // A test that has neither a clock nor a scope may hang, too. Without a handler, the signal for a dump would end
      // the process.
      DumpSignal.start()
      XCTestTimelines.begin()
    }

  extension TestProcess {
    /// Returns whether the current process runs tests, by the arguments that an initializer receives.
    package static func isCurrent(
      _ count: CInt, _ arguments: UnsafePointer<UnsafePointer<CChar>?>?
    ) -> Bool {
      #if canImport(Darwin)
        // Xcode names the bundle in the environment of an app.
        if Environment.namesTestBundle { return true }
      #endif
      return (0..<Int(count)).contains { number in
        arguments?[number].map { isShown(by: $0, isExecutable: number == 0) } ?? false
      }
    }
  }
#else
  // This initializer only makes failures reach the test, because clocks that need no hooks can fail, too. It reads
  // no arguments, and leaves it to the first clock to install the hooks.
  #if compiler(>=6.3)
    #if canImport(CRT)
      @section(".CRT$XCU") @used
    #else
      @section(".init_array") @used
    #endif
  #elseif compiler(<6.3)
    #if canImport(CRT)
      @_section(".CRT$XCU") @_used
    #else
      @_section(".init_array") @_used
    #endif
  #endif
  private let reportAtLoad: @convention(c) () -> Void = { UsageFailure.reportToTests() }
#endif
