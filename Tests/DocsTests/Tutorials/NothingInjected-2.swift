import ClocksTestKit
import Testing

/// Searches after a pause in typing.
private actor SearchField {
  private var pending: Task<Void, any Error>?
  private(set) var searched: [String] = []

  func type(_ word: String) {
    pending?.cancel()
    pending = Task {
      try await Task.sleep(for: .milliseconds(300))
      searched.append(word)
    }
  }
}

@Suite private struct SearchFieldTests {
  @Test(.virtualTime) func searchesWhenTypingPauses() async throws {
    let field = SearchField()
    await field.type("sun")
    try await Task.sleep(for: .seconds(1))
    #expect(await field.searched == ["sun"])
  }
}
