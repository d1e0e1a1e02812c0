import Testing

@testable import ClocksTestKit

@Suite struct DiagramTests {
  private func steps(_ text: String) throws -> [[Diagram.Symbol]] { try Diagram(text).steps }

  @Test func eachSignIsAStep() throws {
    #expect(
      try steps("a-b--(cd)|")
        == [
          [.value("a")], [], [.value("b")], [], [], [.value("c"), .value("d")], [.end],
        ])
    #expect(try steps("-#") == [[], [.error(isExpected: true, "")]])
    #expect(try steps("a!") == [[.value("a")], [.cancellation]])
    #expect(try steps("(!|)") == [[.cancellation, .end]])
    #expect(try steps("a -  -b") == (try steps("a--b")))
    #expect(try steps("'foo'-'-|#'") == [[.value("foo")], [], [.value("-|#")]])
    #expect(try steps("🐢é1") == [[.value("🐢")], [.value("é")], [.value("1")]])
  }

  @Test(arguments: [
    ("a-((b)c)|", "a group within a group\n  a-((b)c)|\n     ^"),
    ("a-(b", "the group that begins here is not closed\n  a-(b\n    ^"),
    ("a-b)", "a group ends that has not begun\n  a-b)\n     ^"),
    ("a(b-)", "no time passes within a group\n  a(b-)\n     ^"),
    ("a()", "an empty group; write - for nothing\n  a()\n    ^"),
    ("a|-b", "nothing comes after the end\n  a|-b\n     ^"),
    ("a(#b)", "nothing comes after an error\n  a(#b)\n     ^"),
    ("a!-!", "the reader is cancelled only once\n  a!-!\n     ^"),
    ("a'b", "the value that begins here has no end: a ' is missing\n  a'b\n   ^"),
    ("", "a diagram has at least one step\n  \n  ^"),
    ("  ", "a diagram has at least one step\n    \n  ^"),
    ("a-^", "\"^\" has no meaning in a diagram\n  a-^\n    ^"),
    ("🐢-[", "\"[\" has no meaning in a diagram\n  🐢-[\n     ^"),
    ("'\u{202E}\r\n'^", "\"^\" has no meaning in a diagram\n  '␍␊'^\n      ^"),
    ("a\r\nb", "\"\\r\\n\" has no meaning in a diagram\n  a␍␊b\n   ^"),
  ])
  func aMistakeIsExplained(text: String, problem: String) {
    let found = #expect(throws: Diagram.Problem.self) { try Diagram(text) }
    #expect(found?.description == problem)
  }

  @Test func aCharacterWithoutAValueIsAMistake() {
    let found = #expect(throws: Diagram.Problem.self) {
      try Diagram("a-x|", value: { $0 == "a" ? .value("a") : nil })
    }
    #expect(found?.description == "there is no value for \"x\"\n  a-x|\n    ^")
  }

  // MARK: - Differences

  private func difference(
    _ diagram: String, _ events: [(Duration, Diagram.Symbol)]
  ) throws -> String? {
    let difference = DiagramDifference(
      try Diagram(diagram), events.map { .init(time: $0, symbol: $1) }, every: .seconds(1))
    return difference.map { ([$0.first] + $0.lines).joined(separator: "\n") }
  }

  @Test func theFirstDifferenceIsShown() throws {
    #expect(try difference("a-|", [(.zero, .value("a")), (.seconds(2), .end)]) == nil)
    #expect(
      try difference(
        "a-b--(cd)|",
        [
          (.zero, .value("a")), (.seconds(2), .value("b")), (.seconds(5), .value("c")),
          (.seconds(6), .end),
        ]) == """
          at 5 s expected c and d, but got c
            expected  a-b--(cd)|
            actual    a-b--c   |
                           ^
          """)
    #expect(
      try difference("ab", [(.zero, .value("long")), (.zero, .value("b")), (.seconds(1), .end)])
        == """
        at 0 s expected a, but got 'long' and b
          expected  a          b
          actual    ('long'b)  |
                    ^
        """.replacing("b)  |", with: "b)|").replacing("a          b", with: "a        b"))
    #expect(
      try difference("a-#", [(.zero, .value("a")), (.seconds(2), .error(isExpected: false, "oh"))])
        == """
        at 2 s expected an error, but got the error oh
          expected  a-#
          actual    a-#
                      ^
        """)
  }

  /// A person may copy the actual diagram into the test.
  @Test(arguments: ["-", "|", " ", "^", "[", "]", "{", "}", ";", ",", "\""])
  func aValueThatIsNoSignIsQuoted(value: String) throws {
    #expect(
      try difference("a-", [(.zero, .value(value))]) == """
        at 0 s expected a, but got '\(value)'
          expected  a  -
          actual    '\(value)'-
                    ^
        """)
  }

  @Test func anEventBetweenTwoStepsIsADifference() throws {
    #expect(
      try difference("a-b", [(.zero, .value("a")), (.milliseconds(1_500), .value("b"))]) == """
        b came at 1.5 s, between two steps
          expected  a-b
          actual    a-b
                      ^
        """)
  }

  @Test func anEventMayBeAtAnyTime() throws {
    #expect(
      try difference("a-b", [(.zero, .value("a")), (Duration(attoseconds: .max), .value("b"))])
        == """
        b came at ∞, between two steps
          expected  a-b
          actual    a-b
                      ^
        """)
  }
}
