#if os(Linux)
  import Foundation

  // Glibc declares these functions only for programs that request X/Open.
  @_silgen_name("posix_openpt") private func openTerminal(_ flags: Int32) -> Int32
  @_silgen_name("grantpt") private func grant(_ terminal: Int32) -> Int32
  @_silgen_name("unlockpt") private func unlock(_ terminal: Int32) -> Int32
  @_silgen_name("ptsname") private func name(of terminal: Int32) -> UnsafePointer<CChar>?

  /// A terminal at which a process can write.
  final class PseudoTerminal {
    /// For the process.
    let end: FileHandle
    private let own: Int32

    init?() {
      own = openTerminal(O_RDWR | O_NOCTTY)
      guard own >= 0, grant(own) == 0, unlock(own) == 0, let name = name(of: own) else {
        return nil
      }
      let end = open(name, O_RDWR | O_NOCTTY)
      guard end >= 0 else { return nil }
      self.end = FileHandle(fileDescriptor: end, closeOnDealloc: true)
    }

    deinit { close(own) }

    /// What was written, until every other end is closed; ours is closed first.
    func readToEnd() -> String {
      try? end.close()
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = read(own, &buffer, buffer.count)
        guard count > 0 else { break }
        bytes += buffer[..<count]
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }
#endif
