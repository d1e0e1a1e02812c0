import Foundation
import TestTraits
import Testing

/// Checks that Docs/Platforms.md lists the tests that some strategies or runtimes skip, and why.
@Suite struct PlatformsTests {
  @Test func theGuideQuotesTheKnownDifferences() throws {
    var tests: [KnownDifference: [String]] = [:]
    for source in try DocsTests.sources() {
      let text = source.joined(separator: "\n")
      let matches = text.matches(
        of: #/\(\.unless\(\.(?<difference>\w+)\)(?:, .*)?\)\s+(?:func|struct) (?<test>\w+)/#)
      #expect(
        matches.count == text.matches(of: #/\.unless\(\.\w+\)/#).count,
        "A test or suite whose first trait is not `unless`, or which has further attributes.")
      for match in matches {
        let difference = try #require(
          KnownDifference.allCases.first { "\($0)" == match.difference }, "\(match.difference)")
        tests[difference, default: []].append("`\(match.test)`")
      }
    }
    let rows = try KnownDifference.allCases.map { difference in
      let names = try #require(tests[difference], "no test depends on \(difference)")
      let list = names.sorted().joined(separator: ", ")
      return "| \(difference.place) | \(difference.rawValue) | \(list) |"
    }
    let guide = try DocsTests.text(of: "Docs/Platforms.md").split(separator: "\n").map(String.init)
    let heading = try #require(
      guide.firstIndex { $0.hasPrefix("| where | difference | skipped tests") })
    #expect(Array(guide[(heading + 2)...].prefix { $0.hasPrefix("|") }) == rows)
  }
}
