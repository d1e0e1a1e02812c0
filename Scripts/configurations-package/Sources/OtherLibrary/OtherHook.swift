// A library that sets the runtime's hook for jobs. The environment variable OTHER_HOOK says when, and what the hook
// does.

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

private typealias Hook =
  @convention(thin) (UnownedJob, @convention(thin) (UnownedJob) -> Void) -> Void

public enum OtherHook {
  /// Passes each job on, as a profiler does; or runs it on its own thread, as an event loop does.
  static func install(_ kind: StaticString) {
    guard let slot = dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobal_hook") else { return }
    let hook = slot.assumingMemoryBound(to: Hook?.self)
    if kind.utf8Start[0] == UInt8(ascii: "f") {
      hook.pointee = { job, original in original(job) }
    } else {
      hook.pointee = { job, _ in EventLoop.shared.enqueue(job) }
    }
  }

  fileprivate static func isAsked(_ value: String) -> Bool {
    guard let asked = getenv("OTHER_HOOK") else { return false }
    return strcmp(asked, value) == 0
  }

  /// Whether any hook is set. With `spi` it is that of this library.
  public static var isSet: Bool {
    let slot = dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobal_hook")
    return slot?.load(as: UInt.self) != 0
  }

  /// To be called in a test.
  public static func installAfter() { _ = after }

  private static let after: Void = {
    if isAsked("after-forwards") { install("forwards") }
    if isAsked("after-takes") { install("takes") }
  }()
}

#if os(Linux) && compiler(>=6.3)
  /// Runs before the initializers without a number, so before the hooks of a test clock are installed.
  @section(".init_array.00101") @used
  private let before: @convention(c) () -> Void = {
    if OtherHook.isAsked("before-forwards") { OtherHook.install("forwards") }
    if OtherHook.isAsked("before-takes") { OtherHook.install("takes") }
  }
#endif
