import ClocksSupport

/// The tokens of failures, kept in a folder from run to run, a file for each test.
struct TokenFolder {
  private let folder: String?
  private let path: String

  /// - Parameter folder: The folder, which is made if it is not there; `nil` keeps nothing.
  init(_ folder: String?, testID: String) {
    self.folder = folder
    // Different tests may have one name as a file.
    let number = String(Mixer.hash(testID), radix: 16)
    path = "\(folder ?? "")/\(testID.fileName)-\(number).txt"
  }

  /// The tokens that can still be read, the latest first.
  func tokens() -> [ScheduleToken] {
    guard folder != nil, let text = TextFile.read(path) else { return [] }
    var tree = TaskTree()
    return text.split(separator: "\n").reversed().compactMap {
      try? ScheduleToken(String($0), &tree)
    }
  }

  /// Keeps one more; says so on standard error if that cannot be done.
  func add(_ token: String) {
    guard let folder else { return }
    let known = TextFile.read(path)?.split(separator: "\n").map(String.init) ?? []
    guard !known.contains(token) else { return }
    do {
      try TextFile.makeFolder(folder)
      try TextFile.write((known + [token]).joined(separator: "\n") + "\n", to: path)
    } catch {
      Terminal.writeLine("A token is not kept for the next time: \(error)")
    }
  }
}
