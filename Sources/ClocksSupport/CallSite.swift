/// The place in a program that a failure is about: a call that the test's author wrote.
package struct CallSite: Sendable {
  package var fileID: StaticString
  package var filePath: StaticString
  package var line: UInt
  package var column: UInt

  package init(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) {
    self.fileID = fileID
    self.filePath = filePath
    self.line = line
    self.column = column
  }

  /// Stands for a place that is not known. XCTest names a failure without a place in the same way.
  package static let unknown = CallSite(fileID: "<EXPR>", filePath: "<EXPR>", line: 0, column: 0)

  /// Creates a call site from texts that are not literals. O(their length).
  package init(dynamicFileID fileID: String, filePath: String, line: Int, column: Int) {
    self.init(
      fileID: PermanentTexts.text(fileID), filePath: PermanentTexts.text(filePath),
      line: UInt(clamping: line), column: UInt(clamping: column))
  }
}

/// Texts that live as long as the process, one for each file that a call site names.
///
/// With static texts, a call site is a plain value. Storing one counts no references.
private enum PermanentTexts {
  private static let lock = Lock(.leaf)
  /// Guarded by `lock`.
  nonisolated(unsafe) private static var texts: [String: StaticString] = [:]

  static func text(_ text: String) -> StaticString {
    lock.withLock {
      if let known = texts[text] { return known }
      let bytes = Array(text.utf8)
      let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count + 1)
      copy.initialize(from: bytes + [0], count: bytes.count + 1)
      // The layout of the frozen type: a pointer, a length, and the flag "is ASCII".
      let isASCII = bytes.allSatisfy { $0 < 0x80 }
      let permanent = unsafeBitCast(
        StaticStringLayout(start: copy, count: bytes.count, flags: isASCII ? 0b10 : 0),
        to: StaticString.self)
      texts[text] = permanent
      return permanent
    }
  }

  private struct StaticStringLayout {
    var start: UnsafeMutablePointer<UInt8>
    var count: Int
    var flags: UInt8
  }
}
