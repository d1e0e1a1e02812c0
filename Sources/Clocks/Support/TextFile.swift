#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Small files, without Foundation.
enum TextFile {
  /// The content of a file; `nil` if it cannot be read.
  static func read(_ path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = fread(&buffer, 1, buffer.count, file)
      guard count > 0 else { break }
      bytes += buffer[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Writes a file, and makes its folder if it is not there. Says so on standard error if it cannot.
  static func write(_ text: String, to path: String) {
    if let end = path.lastIndex(of: "/") { _ = mkdir(String(path[..<end]), 0o777) }
    // First beside it, so that nobody reads half of it.
    let draft = "\(path).\(getpid())"
    guard let file = fopen(draft, "w") else {
      return Terminal.writeLine("\(path): cannot be written: \(String(cString: strerror(errno)))")
    }
    let bytes = Array(text.utf8)
    fwrite(bytes, 1, bytes.count, file)
    fclose(file)
    rename(draft, path)
  }
}

/// Standard error.
enum Terminal {
  /// Whether somebody looks at it.
  static let isStandardErrorOne = isatty(STDERR_FILENO) == 1

  static func writeLine(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
