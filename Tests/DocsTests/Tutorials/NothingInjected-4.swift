import Clocks
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
    let time = try VirtualTime.required
    let field = SearchField()
    await field.type("sun")
    await time.advance(by: .milliseconds(200))
    await field.type("moon")
    await time.advance(by: .milliseconds(299))
    #expect(await field.searched == [])
    await time.advance(by: .milliseconds(1))
    #expect(await field.searched == ["moon"])
  }
}
