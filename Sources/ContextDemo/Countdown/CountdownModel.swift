/// Counts down in a chat: "3...", "2...", "1...", and then the message.
///
/// Both dependencies are closures: where the lines go, and how to sleep. The caller can replace
/// either one, so a test decides how time passes:
///
/// ```swift
/// var model = CountdownModel { print($0) }
/// model.sleep = clock.sleep(nanoseconds:)
/// try await model.countdown(to: "Hello")
/// ```
struct CountdownModel: Sendable {
  /// Posts one line to the chat.
  var say: @Sendable (_ line: String) async throws -> Void

  /// Sleeps for a number of nanoseconds; real time by default.
  var sleep: @Sendable (_ nanoseconds: UInt64) async throws -> Void = Task.sleep(nanoseconds:)

  /// Says the numbers from `start` down to one, a second apart, and one second later the message.
  ///
  /// When its task is cancelled, the function says nothing more and throws the error of ``sleep``.
  ///
  /// - Parameters:
  ///   - message: The last line.
  ///   - start: The first number; if it is less than one, the message is the only line.
  /// - Throws: ``CountdownError`` if the message is empty; otherwise any error of ``say`` and
  ///   ``sleep``.
  func countdown(to message: String, from start: Int = 3) async throws {
    guard !message.isEmpty else { throw CountdownError.emptyMessage }
    for number in stride(from: start, through: 1, by: -1) {
      try await say("\(number)...")
      try await sleep(1_000_000_000)
    }
    try await say(message)
  }
}

enum CountdownError: Error, CustomStringConvertible {
  case emptyMessage

  var description: String { "the message is empty: there is nothing to count down to" }
}
