/// Files of text.
package enum TextFile {
  /// The reason why a file could not be written.
  package struct WriteError: Error, Hashable, Sendable, CustomStringConvertible {
    package let path: String
    package let reason: String

    package var description: String { "cannot write \(path): \(reason)" }
  }

  /// Replaces a file. Readers see the old file or the complete new one, never a part of it.
  ///
  /// On Windows, they may find no file for a moment.
  package static func write(_ text: String, to path: String) throws(WriteError) {
    // A pipe or a device is written in place.
    let temporary = isSpecial(path) ? path : "\(path).\(processName).part"
    var problem = write(text, into: temporary, "wb", for: path)
    if temporary != path {
      #if canImport(CRT)
        // On Windows, `rename` fails if the file exists.
        if problem == nil { remove(path) }
      #endif
      if problem == nil, rename(temporary, path) != 0 { problem = error(path) }
      if problem != nil { remove(temporary) }
    }
    if let problem { throw problem }
  }

  /// Adds a text to the end of a file. Readers may see a part of the text.
  package static func append(_ text: String, to path: String) throws(WriteError) {
    if let problem = write(text, into: path, "ab", for: path) { throw problem }
  }

  private static func write(
    _ text: String, into name: String, _ mode: String, for path: String
  ) -> WriteError? {
    guard let file = fopen(name, mode) else { return error(path) }
    var text = text
    let isWritten = text.withUTF8 { fwrite($0.baseAddress, 1, $0.count, file) == $0.count }
    let problem = isWritten ? nil : error(path)
    return fclose(file) != 0 && problem == nil ? error(path) : problem
  }

  #if canImport(CRT) || canImport(WASILibc)
    private static func isSpecial(_ path: String) -> Bool { false }

    // WebAssembly has no process numbers.
    private static var processName: String { String(UInt64.random(in: 0 ... .max), radix: 36) }
  #else
    private static func isSpecial(_ path: String) -> Bool {
      var status = stat()
      return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    private static var processName: String { "\(getpid())" }
  #endif

  /// Returns the content of a file, or `nil` if it cannot be read.
  package static func read(_ path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while case let count = fread(&buffer, 1, buffer.count, file), count > 0 {
      bytes += buffer[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Makes a folder and its parents.
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
  /// The text as part of a file name that is valid on any system.
  package var fileName: String {
    var name = ""
    for character in self {
      // A letter may have any number of accents.
      guard name.utf8.count + character.utf8.count <= 200 else { break }
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

package enum Terminal {
  package static let isStandardErrorOne = isatty(STDERR_FILENO) == 1

  /// Writes a line in one call, so that lines of other threads do not mix with it.
  package static func writeLine(_ text: String) { writeText(text + "\n", to: STDERR_FILENO) }
}

/// Writes a text in one call where the system allows it. Returns whether all of it was written.
@discardableResult
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
