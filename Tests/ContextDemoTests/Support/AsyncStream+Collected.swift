extension AsyncStream where Element: Sendable {
  /// The next elements, as soon as they are there; fewer if the stream ends before.
  func first(_ count: Int) async -> [Element] {
    var elements: [Element] = []
    for await element in prefix(count) { elements.append(element) }
    return elements
  }
}
