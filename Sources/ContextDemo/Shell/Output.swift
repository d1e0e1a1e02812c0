import Foundation

/// Where lines go: standard output or standard error.
///
/// A line is written at once and whole, so that whoever reads a pipe sees it when it happens.
struct Output: Sendable {
  let style: Style
  /// How many characters fit into a line; `nil` where nobody looks.
  let width: Int?
  private let file: Int32

  /// Standard output, coloured if a person looks at it who has nothing against it.
  static let standard = Output(
    style: Style(
      isTerminal: isatty(STDOUT_FILENO) == 1, environment: ProcessInfo.processInfo.environment),
    file: STDOUT_FILENO)

  /// Standard error, plain.
  static let error = Output(style: .plain, file: STDERR_FILENO)

  init(style: Style, file: Int32) {
    self.style = style
    self.file = file
    let columns = ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) }
    width = columns.flatMap { $0 > 0 ? $0 : nil } ?? Self.terminalWidth(of: file)
  }

  private static func terminalWidth(of file: Int32) -> Int? {
    var size = winsize()
    guard ioctl(file, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  /// Writes a text and ends its last line.
  ///
  /// What cannot be written, because the disk is full for instance, ends the process: whoever wanted
  /// the output must not take it for whole. A reader who has gone away is no reason to stop.
  func write(_ text: String) {
    var bytes = Array((text + "\n").utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
      if count >= 0 {
        bytes = bytes.dropFirst(count)
      } else if errno == EPIPE {
        return
      } else if errno != EINTR {
        let reason = String(cString: strerror(errno))
        if file != STDERR_FILENO { Self.error.write("ContextDemo: cannot write: \(reason)") }
        _exit(ExitCode.cannotWrite.rawValue)
      }
    }
  }

  /// Writes a text of which the lines that are too long are broken between words.
  ///
  /// - Parameter indent: By how many spaces the lines after a break are indented.
  func write(wrapping text: String, indent: Int = 0) {
    write(text.wrapped(to: width, indent: indent))
  }
}

extension String {
  /// The text with line breaks in the place of spaces, so that no line is longer than `width`, unless
  /// a single word is.
  ///
  /// - Parameter indent: By how many spaces the lines after a break are indented; if more than half
  ///   of the width is, then by two.
  func wrapped(to width: Int?, indent: Int = 0) -> String {
    guard let width else { return self }
    let margin = String(repeating: " ", count: indent <= width / 2 ? indent : 2)
    return split(separator: "\n", omittingEmptySubsequences: false)
      .map { line in
        var rest = line
        var lines: [String] = []
        while rest.count > width - (lines.isEmpty ? 0 : margin.count) {
          let room = width - (lines.isEmpty ? 0 : margin.count)
          let start = rest.prefix { $0 == " " }.endIndex
          let limit = rest.index(rest.startIndex, offsetBy: max(room, 0))
          let place =
            rest[start...limit].lastIndex(of: " ") ?? rest[start...].firstIndex(of: " ")
          guard let place else { break }
          lines.append(String(rest[..<place]))
          rest = rest[place...].drop { $0 == " " }
        }
        return (lines + [String(rest)]).joined(separator: "\n" + margin)
      }
      .joined(separator: "\n")
  }
}
