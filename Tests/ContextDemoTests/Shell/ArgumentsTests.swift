import Testing

@testable import ContextDemo

@Suite struct ArgumentsTests {
  private static let options = [Option(name: "from", value: "N", help: "")]

  private func parse(_ words: String...) throws(UsageError) -> Arguments {
    try Arguments(
      words, operands: [Operand(name: "MESSAGE", help: "")], options: Self.options)
  }

  @Test func operandsAndOptionsInAnyOrder() throws {
    for arguments in [
      try parse("Hello", "--from", "5"), try parse("--from", "5", "Hello"),
      try parse("--from=5", "--", "Hello"),
    ] {
      #expect(arguments.operands == ["Hello"])
      #expect(arguments.string("from") == "5")
    }
  }

  @Test func whatLooksLikeAnOptionCanBeAnOperand() throws {
    #expect(try parse("--", "--from").operands == ["--from"])
    #expect(try parse("-5").operands == ["-5"])
    #expect(try parse("-").operands == ["-"])
    #expect(try parse("").operands == [""])
    #expect(try parse("--from", "--from").string("from") == "--from")
    #expect(try parse("--from=").string("from") == "")
  }

  @Test(arguments: [
    (["--to", "5"], "unknown option '--to'"),
    (["--to=5"], "unknown option '--to'"),
    (["-from", "5"], "unknown option '-from'; did you mean '--from'?"),
    (["-x"], "unknown option '-x'"),
    (["--from"], "option '--from' needs a value"),
    (["--from", "1", "--from=2"], "option '--from' is given twice"),
    (["a", "b"], "unexpected argument 'b'"),
    (["a", "--", "b"], "unexpected argument 'b'"),
  ])
  func whatMakesNoSenseIsNamed(_ words: [String], _ message: String) {
    #expect(throws: UsageError(message)) {
      try Arguments(
        words, operands: [Operand(name: "MESSAGE", help: "")], options: Self.options)
    }
  }

  @Test func integers() throws {
    #expect(try parse("--from", "1").integer("from", in: 1...9) == 1)
    #expect(try parse("--from", "9").integer("from", in: 1...9) == 9)
    #expect(try parse().integer("from", in: 1...9) == nil)
    for value in ["0", "10", "", "x", "1.5", "99999999999999999999"] {
      let message = "option '--from' needs a whole number from 1 to 9, not '\(value)'"
      #expect(throws: UsageError(message)) {
        try parse("--from", value).integer("from", in: 1...9)
      }
    }
  }

  @Test func seconds() throws {
    #expect(try parse("--from", "1.5").seconds("from") == .milliseconds(1500))
    #expect(try parse("--from", "86400").seconds("from") == .seconds(86_400))
    #expect(try parse().seconds("from") == nil)
    for value in ["0", "-1", "", "x", "nan", "inf", "86401"] {
      #expect(throws: UsageError.self) { try parse("--from", value).seconds("from") }
    }
  }
}
