import Foundation

/// Returns the text of a page of Docs.
package func guide(_ name: String) throws -> String {
  let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  return try String(contentsOf: root.appending(path: "Docs/\(name).md"), encoding: .utf8)
}

/// The page Docs/Troubleshooting.md: each text that a heading quotes is provoked by a test.
public enum Troubleshooting {
  /// A part of the page under a heading of its own.
  public struct Row: Sendable {
    public let heading: String
    public let text: String

    /// The texts that the heading quotes; `…` stands for anything.
    public var quotes: [String] {
      guard heading.hasPrefix("\""), heading.hasSuffix("\"") else { return [] }
      return heading.dropFirst().dropLast().components(separatedBy: "\", \"")
    }

    /// Whether the section contains an example of a list of tasks.
    public var hasList: Bool { text.contains("\n```text\nWhere the test's ") }
  }

  public static let page = (try? guide("Troubleshooting")) ?? ""

  public static let rows: [Row] = page.components(separatedBy: "\n## ").dropFirst().map {
    let parts = $0.split(separator: "\n", maxSplits: 1)
    return Row(heading: String(parts[0]), text: String(parts[1]))
  }

  /// Whether a text matches a quote of a heading. Numbers may differ.
  public static func quote(_ quote: String, fits text: String) -> Bool {
    func unnumbered(_ text: some StringProtocol) -> String {
      String(text).replacing(/\d+(\.\d+)?/, with: "0")
    }
    var rest = unnumbered(text)[...]
    for part in unnumbered(quote).components(separatedBy: "…") {
      let part = part.trimmingCharacters(in: .whitespaces)
      guard !part.isEmpty else { continue }
      guard let range = rest.range(of: part) else { return false }
      rest = rest[range.upperBound...]
    }
    return true
  }

  /// The texts that ClocksTestKitTests provokes. ClocksTests provokes the others.
  public static let quotesOfTheKit: Set = [
    "The condition did not hold at any time within …", "The condition held after …",
    "Expected … to be fulfilled …", "… expects a limit of zero or more …",
    "… or to be given a clock", "… but the task was cancelled …",
    "The sequence does not do what the diagram says …", "… does not understand the diagram …",
    "Expected an element within …", "CLOCKS_TRACE: cannot write …",
    "CLOCKS_TRACE: no timeline was written …",
    "Time jumped …, while task #… waited for work outside the scope …",
    "Time jumped …, because nothing of the test could run …",
    "… at this very instant, and … not woken yet …",
    "A deadlock at …", "A test can be run in many orders only where every hop …",
    "… needs ClocksTestKit, which hands it the test's issues …",
    "The test does not behave the same in two runs of one order …",
    "Two runs of this schedule were not the same …",
    "The schedule \"…\" is no longer possible …",
    "The schedule \"…\" is not the order that was recorded …",
    "The schedule \"…\" cannot be run …",
  ]

  /// The texts that other builds provoke: Tests/TwoClocks and Tests/TwoCopies.
  public static let quotesOfBuilds: Set = [
    "multiple packages ('…', 'swift-test-clocks') declare targets with a conflicting name: 'Clocks' …",
    "This process contains two copies of Clocks, one in … and one in …",
    "type 'any Clock<Duration>' cannot conform to 'Clock'",
  ]

  /// The headings that quote no text: each describes a symptom.
  public static let unquoted = [
    "An expectation sees the state from just before",
    "An advance of a TestClock has no effect",
    "A test hangs on the build machine", "A SleepArrivalError",
    "The test hangs, and says nothing",
    "The test passes alone and fails among others, or in release only",
    "A deadline does something else than I expected",
  ]
}
