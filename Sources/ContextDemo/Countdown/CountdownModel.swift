/// Counts down in a chat: "3...", "2...", "1...", and then the message.
///
/// The model knows neither where its words go nor how time passes: both are closures that its owner
/// may replace.
///
/// ```swift
/// var model = CountdownModel { print($0) }
/// model.sleep = clock.sleep(nanoseconds:)
/// try await model.countdown(to: "Hello")
/// ```
struct CountdownModel: Sendable {
  /// Says one line in the chat.
  var say: @Sendable (_ line: String) async throws -> Void

  /// Sleeps for a number of nanoseconds; for real, unless somebody replaces it.
  var sleep: @Sendable (_ nanoseconds: UInt64) async throws -> Void = Task.sleep(nanoseconds:)

  /// Says the numbers from `start` down to one, a second apart, and a second later the message.
  ///
  /// Returns when the message has been said. Cancelled, it says nothing more and throws what
  /// ``sleep`` throws.
  ///
  /// - Parameters:
  ///   - message: What to say at the end.
  ///   - start: The first number; with zero or less the message comes at once.
  /// - Throws: ``CountdownError`` if the message is empty, before anything is said; and whatever
  ///   ``say`` and ``sleep`` throw.
  func countdown(to message: String, from start: Int = 3) async throws {
    guard !message.isEmpty else { throw CountdownError.emptyMessage }
    for number in stride(from: start, through: 1, by: -1) {
      try await say("\(number)...")
      try await sleep(1_000_000_000)
    }
    try await say(message)
  }
}

/// Why a countdown does not begin.
enum CountdownError: Error, CustomStringConvertible {
  /// There is nothing to count down to.
  case emptyMessage

  var description: String {
    switch self {
    case .emptyMessage: "the message is empty: there is nothing to count down to"
    }
  }
}
