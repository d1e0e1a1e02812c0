import Foundation

/// Where lines go: standard output or standard error.
///
/// A line is written at once and whole, so that whoever reads a pipe sees it when it happens.
struct Output: Sendable {
  let style: Style
  private let handle: FileHandle

  /// Standard output, coloured if a person looks at it who has nothing against it.
  static let standard = Output(
    style: Style(
      isTerminal: isatty(STDOUT_FILENO) == 1, environment: ProcessInfo.processInfo.environment),
    handle: .standardOutput)

  /// Standard error, plain.
  static let error = Output(style: .plain, handle: .standardError)

  func write(_ line: String) {
    // A reader who has gone away is no reason to stop.
    try? handle.write(contentsOf: Data((line + "\n").utf8))
  }
}
