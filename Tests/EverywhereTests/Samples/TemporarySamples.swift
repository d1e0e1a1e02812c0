import Foundation
import Testing

/// Values of one text.
struct Same: CustomTestStringConvertible, CustomStringConvertible, Sendable {
  let number: Int
  var description: String { "same" }
  var testDescription: String { description }
}

@Suite(.enabled(if: runsSamples)) struct EverywhereTemporarySamples {
  @Test(arguments: (1...3).map(Same.init)) func leavesAFolderBehind(_ value: Same) throws {
    try FileManager.default.createDirectory(
      at: FileManager.default.temporaryDirectory.appending(path: "sample-\(UUID())"),
      withIntermediateDirectories: false)
  }

  /// A file whose name is random, and a file of a fixed name that no other process may use meanwhile.
  @Test func leavesAFolderBehind() async throws {
    let temporary = FileManager.default.temporaryDirectory
    try FileManager.default.createDirectory(
      at: temporary.appending(path: "sample-\(UUID())"), withIntermediateDirectories: false)
    let shared = temporary.appending(path: "sample")
    let text = "\(ProcessInfo.processInfo.processIdentifier)"
    try text.write(to: shared, atomically: false, encoding: .utf8)
    try await Task.sleep(for: .seconds(1))
    usleep(20_000)
    #expect(try String(contentsOf: shared, encoding: .utf8) == text)
    try FileManager.default.removeItem(at: shared)
  }
}
