import Testing

@testable import ContextDemo

@Suite struct WrappingTests {
  @Test(arguments: [
    ("a short line", nil, 0, "a short line"),
    ("a short line", 12, 0, "a short line"),
    ("a short line", 11, 0, "a short\nline"),
    ("a short line", 7, 2, "a short\n  line"),
    ("  a short line", 9, 4, "  a short\n    line"),
    ("indivisible", 5, 2, "indivisible"),
    ("an indivisible word", 5, 2, "an\n  indivisible\n  word"),
    ("two\nlines here", 5, 0, "two\nlines\nhere"),
    ("a b c", 3, 2, "a b\n  c"),
    ("", 5, 0, ""),
  ])
  func wraps(_ text: String, _ width: Int?, _ indent: Int, _ wrapped: String) {
    #expect(text.wrapped(to: width, indent: indent) == wrapped)
  }

  @Test(arguments: [
    ("", "", 0), ("a", "", 1), ("", "ab", 2), ("from", "form", 1), ("kitten", "sitting", 3),
    ("countdown", "countdown", 0),
  ])
  func distances(_ a: String, _ b: String, _ distance: Int) {
    #expect(a.editDistance(to: b) == distance)
    #expect(b.editDistance(to: a) == distance)
  }
}
