import Testing

@testable import ContextDemo

@Suite struct ArgumentsTests {
  private func parse(_ words: String...) throws(UsageError) -> Arguments {
    try Arguments(words, parameters: [("MESSAGE", ""), ("--from N", "")])
  }

  @Test func operandsAndOptionsInAnyOrder() throws {
    for arguments in [
      try parse("Hello", "--from", "5"), try parse("--from", "5", "Hello"),
      try parse("--from=5", "Hello"),
    ] {
      #expect(arguments.operands == ["Hello"])
      #expect(try arguments.integer("--from", in: 1...9) == 5)
    }
    #expect(try parse("").operands == [""])
    #expect(try parse("--from", "--from").path("--from") == "--from")
  }

  @Test func integers() throws {
    #expect(try parse("--from", "1").integer("--from", in: 1...9) == 1)
    #expect(try parse("--from", "9").integer("--from", in: 1...9) == 9)
    #expect(try parse().integer("--from", in: 1...9) == nil)
    for value in ["0", "10", "", "x", "1.5", "99999999999999999999"] {
      let message = "option '--from' needs a whole number from 1 to 9, not '\(value)'"
      #expect(throws: UsageError(message)) {
        try parse("--from", value).integer("--from", in: 1...9)
      }
    }
  }

  @Test func seconds() throws {
    #expect(try parse("--from", "1.5").seconds("--from") == .milliseconds(1500))
    #expect(try parse("--from", "86400").seconds("--from") == .seconds(86_400))
    #expect(try parse().seconds("--from") == nil)
    for value in ["0", "-1", "", "x", "nan", "inf", "86401"] {
      #expect(throws: UsageError.self) { try parse("--from", value).seconds("--from") }
    }
  }
}
