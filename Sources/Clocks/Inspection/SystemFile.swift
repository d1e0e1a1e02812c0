#if os(Linux)
  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif
#endif

/// Files in which the system tells about this process; they have no length.
enum SystemFile {
  /// What a file says; empty if it cannot be read.
  static func text(_ path: String) -> String {
    #if os(Linux)
      let file = open(path, O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { return "" }
      defer { close(file) }
      var bytes: [UInt8] = []
      var part = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = read(file, &part, part.count)
        guard count > 0 else { break }
        bytes += part[..<count]
      }
      return String(decoding: bytes, as: UTF8.self)
    #else
      return ""
    #endif
  }
}
