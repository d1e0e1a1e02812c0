/// The tokens of failures, kept in a folder from run to run, a file for each test.
struct TokenFolder {
  private let path: String?

  /// - Parameter folder: The folder, which is made if it is not there; `nil` keeps nothing.
  init(_ folder: String?, testID: String) {
    path = folder.map { folder in
      let name = testID.map { $0.isLetter || $0.isNumber ? $0 : "-" }
      // Different tests may have one name after that.
      return "\(folder)/\(String(name).prefix(100))-\(String(Mixer.hash(testID), radix: 16)).txt"
    }
  }

  /// The tokens that can still be read, the latest first.
  func tokens() -> [ScheduleToken] {
    guard let path, let text = TextFile.read(path) else { return [] }
    var tree = TaskTree()
    return text.split(separator: "\n").reversed().compactMap {
      try? ScheduleToken(String($0), &tree)
    }
  }

  /// Keeps one more.
  func add(_ token: String) {
    guard let path else { return }
    let known = TextFile.read(path)?.split(separator: "\n").map(String.init) ?? []
    guard !known.contains(token) else { return }
    TextFile.write((known + [token]).joined(separator: "\n") + "\n", to: path)
  }
}
