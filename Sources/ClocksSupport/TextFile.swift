/// Files that are written completely or not at all.
package enum TextFile {
  /// The reason why a file could not be written.
  package struct WriteError: Error, Hashable, Sendable, CustomStringConvertible {
    package let path: String
    package let reason: String

    package var description: String { "cannot write \(path): \(reason)" }
  }

  #if !canImport(CRT) && !canImport(WASILibc)
    /// Replaces a file. Readers see the old file or the new one, never a part of it.
    package static func write(_ text: String, to path: String) throws(WriteError) {
      // A pipe or a device is written in place.
      var status = stat()
      let isSpecial = stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
      let temporary = isSpecial ? path : "\(path).\(getpid()).part"
      let file = open(temporary, isSpecial ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC, 0o666)
      guard file >= 0 else { throw error(path) }
      var problem = writeText(text, to: file) ? nil : error(path)
      if close(file) != 0, problem == nil { problem = error(path) }
      if !isSpecial {
        if problem == nil, rename(temporary, path) != 0 { problem = error(path) }
        if problem != nil { unlink(temporary) }
      }
      if let problem { throw problem }
    }
  #endif

  /// Makes a folder and its parents.
  package static func makeFolder(_ path: String) throws(WriteError) {
    var beginning = path.hasPrefix("/") ? "/" : ""
    for name in path.split(separator: "/") {
      beginning += beginning.isEmpty || beginning.hasSuffix("/") ? String(name) : "/\(name)"
      guard mkdir(beginning, 0o777) != 0, errno != EEXIST, errno != EISDIR else { continue }
      throw error(beginning)
    }
  }

  static func error(_ path: String) -> WriteError {
    WriteError(path: path, reason: String(cString: strerror(errno)))
  }
}

extension String {
  /// The text as part of a file name that is valid on any system.
  package var fileName: String {
    var name = ""
    for character in self {
      let isPointWithin = character == "." && name.last.map { $0 != "." && $0 != "-" } == true
      if character.isLetter || character.isNumber || character == "_" || isPointWithin {
        name.append(character)
      } else if !name.isEmpty, !name.hasSuffix("-") {
        name.append("-")
      }
      // A name has at most 255 bytes, and callers add to it.
      if name.utf8.count > 180 { break }
    }
    while name.hasSuffix("-") || name.hasSuffix(".") { name.removeLast() }
    return name.isEmpty ? "timeline" : name
  }
}

extension TextFile {
  /// Returns the content of a file, or `nil` if it cannot be read.
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

package enum Terminal {
  package static let isStandardErrorOne = isatty(STDERR_FILENO) == 1

  /// Writes a line in one call, so that lines of other threads do not mix with it.
  package static func writeLine(_ text: String) { _ = writeText(text + "\n", to: STDERR_FILENO) }
}

/// Writes a text in one call where the system allows it. Returns whether the whole text was written.
package func writeText(_ text: String, to file: Int32) -> Bool {
  var text = text
  return text.withUTF8 { bytes in
    var rest = UnsafeRawBufferPointer(bytes)
    while !rest.isEmpty {
      let written = write(file, rest.baseAddress!, rest.count)
      if written < 0 && errno == EINTR { continue }
      guard written > 0 else { return false }
      rest = UnsafeRawBufferPointer(rebasing: rest[written...])
    }
    return true
  }
}
