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
      guard TestProcess.isCurrent(count, arguments), !OwnCopy.standsBack else { return }
      Environment.check(environment)
      _ = Environment.isExitTest
      Hashing.fixSeeds()
      #if os(Linux)
        ProcFileSystem.noteInheritedSockets()
      #endif
      RuntimeHooks.installAtLoad()
      // A test that has neither a clock nor a scope may hang, too, and the signal must not end the process.
      DumpSignal.start()
      XCTestTimelines.begin()
    }

  /// A process that was started to run tests.
  package enum TestProcess {
    /// Returns whether the current process runs tests, by the arguments that an initializer receives.
    ///
    /// On Linux the executable is a test bundle itself. On Apple's platforms a tool has the bundle's path, or a
    /// path in it, among its arguments; or Xcode names the bundle in the environment of an app.
    package static func isCurrent(
      _ count: CInt, _ arguments: UnsafePointer<UnsafePointer<CChar>?>?
    ) -> Bool {
      #if canImport(Darwin)
        if Environment.namesTestBundle { return true }
        return (0..<Int(count)).contains { arguments?[$0].map(isInBundle) ?? false }
      #else
        return arguments?.pointee.map(isBundle) ?? false
      #endif
    }

    private static func isBundle(_ path: UnsafePointer<CChar>) -> Bool {
      let suffix: StaticString = ".xctest"
      let length = strlen(path)
      guard length >= suffix.utf8CodeUnitCount else { return false }
      let end = path + (length - suffix.utf8CodeUnitCount)
      return memcmp(end, suffix.utf8Start, suffix.utf8CodeUnitCount) == 0
    }

    /// Returns whether a path is that of a test bundle, or of a file in one.
    static func isInBundle(_ path: UnsafePointer<CChar>) -> Bool {
      if isBundle(path) { return true }
      let part: StaticString = ".xctest/"
      let text = UnsafeRawPointer(part.utf8Start).assumingMemoryBound(to: CChar.self)
      return strstr(path, text) != nil
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
