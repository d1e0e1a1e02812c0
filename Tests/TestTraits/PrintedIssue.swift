import Foundation

/// An issue as Swift Testing prints it, in a process of its own.
public struct PrintedIssue: Equatable, Sendable {
  /// The test, for example `aTest()`.
  public var test: String
  public var line: Int
  /// The text of the issue, or else its heading. Task numbers are replaced by `#`, and the names that the test
  /// library gives to tasks are removed.
  public var text: String
  /// The task dump, if the issue has one.
  public var dump: String

  /// Returns all issues in the output of a process, in order.
  public static func all(in output: String) -> [PrintedIssue] {
    var issues: [PrintedIssue] = []
    var isInIssue = false
    for line in output.split(separator: "\n", omittingEmptySubsequences: false) {
      if let heading = line.wholeMatch(
        of: /. Test (.+?) recorded an issue(?: with .*)? at [^:]+:(\d+):\d+: (.*)/)
      {
        issues.append(
          PrintedIssue(
            test: String(heading.1), line: Int(heading.2) ?? 0, text: String(heading.3), dump: ""))
        isInIssue = true
      } else if isInIssue, line.hasPrefix("↳ ") {
        issues[issues.count - 1].text = String(line.dropFirst(2))
      } else if isInIssue, line.hasPrefix("  ") {
        issues[issues.count - 1].text += "\n" + line.dropFirst(2)
      } else {
        isInIssue = false
      }
    }
    return issues.map(\.unnumbered)
  }

  private var unnumbered: PrintedIssue {
    let parts = text.withoutMeasuredTime.replacing(/#\d+/, with: "#")
      .replacing(/task "\[Swift Testing\] [^"]*" \(#\)/, with: "task #")
      .components(separatedBy: "\n\nWhere the test's ")
    var issue = self
    issue.text = parts[0].trimmingCharacters(in: .newlines)
    issue.dump = parts.dropFirst().joined()
    return issue
  }

  /// The text without the numbers that differ between runs of an endless loop: the time and the pending sleeps.
  public var textOfALoop: String {
    guard text.contains("gave up at") else { return text }
    return text.replacing(/gave up at [\d.e-]+ seconds/, with: "gave up at some time")
      .replacing(/Pending sleeps:(?: none|(?:\n {2}- .*)+)/, with: "Pending sleeps: some")
  }
}

extension String {
  /// The text without the measured real time that a report adds on a busy machine. The limit stays.
  public var withoutMeasuredTime: String {
    replacing(/[\d.]+ seconds of real time \(the limit is ([\d.]+ seconds)\)/) {
      "\($0.1) of real time"
    }
  }
}

extension PrintedIssue: CustomStringConvertible {
  public var description: String { "\(test), line \(line): \(text)\n\(dump)" }
}

extension SourceText {
  /// The first line after the beginning of a function that contains one of the texts.
  public func line(of texts: [String], inFunction name: String) -> Int? {
    guard let start = lines.firstIndex(where: { $0.contains("func \(name)(") }) else { return nil }
    return lines[(start + 1)...].firstIndex { line in texts.contains { line.contains($0) } }.map {
      $0 + 1
    }
  }

  /// The line at which a test is declared: the last line up to that of its function that begins with `@Test`.
  public func declaration(ofTest name: String) -> Int? {
    guard let start = lines.firstIndex(where: { $0.contains("func \(name)(") }) else { return nil }
    return lines[...start].lastIndex { $0.drop { $0 == " " }.hasPrefix("@Test") }.map { $0 + 1 }
  }
}

/// A file of tests.
public struct SourceText: Sendable {
  let lines: [String]

  public init(_ path: String = #filePath) throws {
    lines = try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n")
  }
}
