#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#endif

#if canImport(Darwin) || canImport(Glibc)
  // In a test process the door is opened at load, before there is a second thread: then nothing can
  // have been enqueued elsewhere, and every job that can make a clock has come through it. In any
  // other process nothing happens here, and the door stays shut until the first clock is made.
  //
  // The C libraries of Apple and of GNU hand the arguments of the process to what runs at load.
  // Others (Musl) call it without any: reading them there would read what happens to lie around.

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
  private let installAtLoad: @convention(c) (CInt, UnsafePointer<UnsafePointer<CChar>?>?) -> Void =
    {
      count, arguments in
      guard TestProcess.isThisOne(count, arguments) else { return }
      Hashing.fixSeeds()
      RuntimeHooks.installAtLoad()
    }

  /// A process that was started to run tests.
  enum TestProcess {
    /// Whether this process is known to be one.
    ///
    /// On Linux the executable is a test bundle itself. On Apple's platforms a tool is started with
    /// the path of the bundle, or of the executable in it, among its arguments; or Xcode tells an app
    /// about the bundle by the environment.
    static func isThisOne(
      _ count: CInt, _ arguments: UnsafePointer<UnsafePointer<CChar>?>?
    ) -> Bool {
      #if canImport(Darwin)
        if Environment.namesTestBundle { return true }
        return (0..<Int(count)).contains { index in
          arguments?[index].map(isInBundle) ?? false
        }
      #else
        guard let executable = arguments?.pointee else { return false }
        return isBundle(executable)
      #endif
    }

    private static func isBundle(_ path: UnsafePointer<CChar>) -> Bool {
      let suffix: StaticString = ".xctest"
      let length = strlen(path)
      guard length >= suffix.utf8CodeUnitCount else { return false }
      let end = path + (length - suffix.utf8CodeUnitCount)
      return memcmp(end, suffix.utf8Start, suffix.utf8CodeUnitCount) == 0
    }

    /// Whether the path is that of a test bundle, or of something in one.
    static func isInBundle(_ path: UnsafePointer<CChar>) -> Bool {
      if isBundle(path) { return true }
      let part: StaticString = ".xctest/"
      let text = UnsafeRawPointer(part.utf8Start).assumingMemoryBound(to: CChar.self)
      return strstr(path, text) != nil
    }
  }
#endif
