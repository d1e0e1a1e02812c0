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
