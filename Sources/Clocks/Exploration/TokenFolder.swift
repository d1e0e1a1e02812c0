import ClocksSearch
import ClocksSupport

/// A folder that keeps the tokens of failures from run to run, with one file for each test.
struct TokenFolder {
  private let folder: String?
  private let path: String
  /// Held while a file is read and replaced: the cases of a parameterized test run in parallel, and share a file.
  /// Rank `leaf`.
  private static let lock = Lock(.leaf)

  /// - Parameter folder: The folder, which is created if necessary. If it is `nil`, no token is kept.
  init(_ folder: String?, testID: String) {
    self.folder = folder
    path = "\(folder ?? "")/\(Self.fileName(of: testID)).txt"
  }

  /// Returns a name for the files of a test that no other test's files have.
  static func fileName(of testID: String) -> String {
    "\(testID.fileName)-\(String(Mixer.hash(testID), radix: 16))"
  }

  /// Splits at line endings of any kind, because a version control system may have changed them.
  private static func lines(_ text: String) -> [String] {
    text.split(whereSeparator: \.isNewline).map(String.init)
  }

  /// Returns the tokens that can be read, the latest first, and adds their tasks to the tree.
  func tokens(in tree: inout TaskTree) -> [ScheduleToken] {
    guard folder != nil, let text = TextFile.read(path) else { return [] }
    return Self.lines(text).reversed().compactMap { try? ScheduleToken($0, &tree) }
  }

  /// Adds a token; writes a message to standard error if that fails. Thread-safe.
  func add(_ token: String) {
    guard let folder else { return }
    do {
      try Self.lock.withLock {
        let known = TextFile.read(path).map(Self.lines) ?? []
        guard !known.contains(token) else { return }
        try TextFile.makeFolder(folder)
        try TextFile.write((known + [token]).joined(separator: "\n") + "\n", to: path)
      }
    } catch {
      Terminal.writeLine("A token is not kept for the next time: \(error)")
    }
  }
}
