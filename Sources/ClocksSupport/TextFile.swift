#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// A file that is written whole, or not at all.
package enum TextFile {
  /// Says why a file could not be written.
  package struct WriteError: Error, Hashable, Sendable, CustomStringConvertible {
    package let path: String
    /// What the system says about it.
    package let reason: String

    package var description: String { "cannot write \(path): \(reason)" }
  }

  /// Writes a file in place of whatever has that name.
  ///
  /// Readers see the old file or the new one: it is written under another name first.
  package static func write(_ text: String, to path: String) throws(WriteError) {
    // What is no file, a pipe or a device, keeps its name.
    var status = stat()
    let isSpecial = stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    let temporary = isSpecial ? path : "\(path).\(getpid()).part"
    let file = open(temporary, isSpecial ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC, 0o666)
    guard file >= 0 else { throw error(path) }
    var problem = writeAll(text, to: file) ? nil : error(path)
    if close(file) != 0, problem == nil { problem = error(path) }
    if !isSpecial {
      if problem == nil, rename(temporary, path) != 0 { problem = error(path) }
      if problem != nil { unlink(temporary) }
    }
    if let problem { throw problem }
  }

  private static func writeAll(_ text: String, to file: Int32) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let written = Self.system(file, rest)
        if written < 0 && errno == EINTR { continue }
        guard written > 0 else { return false }
        rest = UnsafeRawBufferPointer(rebasing: rest[written...])
      }
      return true
    }
  }

  private static func system(_ file: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
      Darwin.write(file, bytes.baseAddress, bytes.count)
    #elseif canImport(Glibc)
      Glibc.write(file, bytes.baseAddress, bytes.count)
    #elseif canImport(Musl)
      Musl.write(file, bytes.baseAddress, bytes.count)
    #else
      Android.write(file, bytes.baseAddress!, bytes.count)
    #endif
  }

  /// Makes a folder, and those that it is in.
  package static func makeFolder(_ path: String) throws(WriteError) {
    var beginning = path.hasPrefix("/") ? "/" : ""
    for name in path.split(separator: "/") {
      beginning += beginning.isEmpty || beginning.hasSuffix("/") ? String(name) : "/\(name)"
      guard mkdir(beginning, 0o777) != 0, errno != EEXIST, errno != EISDIR else { continue }
      throw error(beginning)
    }
  }

  private static func error(_ path: String) -> WriteError {
    WriteError(path: path, reason: String(cString: strerror(errno)))
  }
}

extension String {
  /// The text as a part of a file's name on any system: letters, digits, points, dashes and
  /// underscores, and not too many.
  package var fileName: String {
    var name = ""
    for character in self {
      let isPointWithin = character == "." && name.last.map { $0 != "." && $0 != "-" } == true
      if character.isLetter || character.isNumber || character == "_" || isPointWithin {
        name.append(character)
      } else if !name.isEmpty, !name.hasSuffix("-") {
        name.append("-")
      }
      // A name has at most 255 bytes, and something may be added.
      if name.utf8.count > 180 { break }
    }
    while name.hasSuffix("-") || name.hasSuffix(".") { name.removeLast() }
    return name.isEmpty ? "timeline" : name
  }
}

extension TextFile {
  /// The content of a file; `nil` if it cannot be read.
  package static func read(_ path: String) -> String? {
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
}

/// Standard error.
package enum Terminal {
  /// Whether somebody looks at it.
  package static let isStandardErrorOne = isatty(STDERR_FILENO) == 1

  /// Writes a line in one call, so that those of other threads do not come between.
  package static func writeLine(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
