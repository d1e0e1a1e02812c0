#if os(Linux) && canImport(Glibc) && compiler(>=6.3)
  import Glibc

  // In a test process the door is opened at load, before there is a second thread: then nothing can
  // have been enqueued elsewhere, and every job that can make a clock has come through it. A
  // process is a test process if its executable is a test bundle. In any other process nothing
  // happens here, and the door stays shut until the first clock is made. Only the GNU C library hands
  // the arguments of the process to what runs at load.

  @section(".init_array") @used
  private let openAtLoad: @convention(c) (CInt, UnsafePointer<UnsafePointer<CChar>?>?) -> Void = {
    _, arguments in
    guard let path = arguments?.pointee else { return }
    let suffix: StaticString = ".xctest"
    let length = strlen(path)
    guard length >= suffix.utf8CodeUnitCount else { return }
    let end = path + (length - suffix.utf8CodeUnitCount)
    guard memcmp(end, suffix.utf8Start, suffix.utf8CodeUnitCount) == 0 else { return }
    RuntimeDoor.open()
  }
#endif
