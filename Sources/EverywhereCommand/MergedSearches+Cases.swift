import Foundation

// Test cases that some shards lack, and texts of arguments that differ between processes.
extension MergedSearches {
  /// Returns a text of arguments without what often differs between processes: addresses, UUIDs, and the order of the
  /// elements of a set or a dictionary.
  static func reduced(_ arguments: String) -> String {
    let uuid = /[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}/
    let text = arguments.replacing(uuid, with: "…").replacing(/0x[0-9A-Fa-f]+/, with: "…")
    return text.split { !$0.isLetter && !$0.isNumber && $0 != "…" }.sorted()
      .joined(separator: " ")
  }

  private static let mostCasesNamed = 10

  /// A section of the page; empty if no shard lacks a test case whose arguments are known.
  func missingCases(_ tests: [Test]) -> [String] {
    let lines = tests.flatMap { test in
      test.incomplete.compactMap { shard -> String? in
        let missing = test.missingCases(in: shard)
        guard !missing.isEmpty else { return nil }
        let named = missing.prefix(Self.mostCasesNamed).map(Self.code).joined(separator: ", ")
        let others = missing.count - Self.mostCasesNamed
        let more = others > 0 ? ", and \(others) more" : ""
        return "- \(Self.code(test.name)), shard \(shard): \(named)\(more)"
      }
    }
    guard !lines.isEmpty else { return [] }
    return ["## Missing test cases", ""] + lines + [
      "",
      """
      Test cases are told apart by the texts of their arguments. If such a text differs between processes, as that \
      of a random number does, each shard seems to lack the test case of the other one. Then let the type of the \
      argument conform to `CustomTestStringConvertible`, with a text that does not differ.
      """, "",
    ]
  }
}
