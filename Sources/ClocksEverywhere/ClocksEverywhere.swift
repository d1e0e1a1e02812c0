import Clocks
import ClocksSupport
import ClocksTestKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

// The library is preloaded into a test process (`LD_PRELOAD`, `DYLD_INSERT_LIBRARIES`), and changes no other.
// It has never been run on Apple platforms.
#if canImport(Darwin) || canImport(Glibc)
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
  private let atLoad: @convention(c) (CInt, UnsafePointer<UnsafePointer<CChar>?>?) -> Void = {
    count, arguments in
    guard TestProcess.isCurrent(count, arguments), OwnCopy.preparesProcess else { return }
    EverywhereTests.begin()
  }
#endif
