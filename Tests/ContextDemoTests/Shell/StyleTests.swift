import Testing

@testable import ContextDemo

@Suite struct StyleTests {
  @Test func coloursAreForTerminalsWhoseOwnersDoNotObject() {
    #expect(Style(isTerminal: true, environment: [:]).isColoured)
    #expect(!Style(isTerminal: false, environment: [:]).isColoured)
    #expect(!Style(isTerminal: true, environment: ["NO_COLOR": "1"]).isColoured)
    #expect(!Style(isTerminal: true, environment: ["NO_COLOR": ""]).isColoured)
    #expect(!Style(isTerminal: true, environment: ["TERM": "dumb"]).isColoured)
  }

  @Test func looks() {
    let coloured = Style(isColoured: true)
    #expect(coloured(.bold, "x") == "\u{1B}[1mx\u{1B}[0m")
    #expect(coloured(.name("chat"), "x") == coloured(.name("chat"), "x"))
    #expect(Style.plain(.bold, "x") == "x")
    #expect(Style.plain(.name("chat"), "x") == "x")
  }

  @Test(arguments: [
    (Duration.zero, "0.000 s", "0.0 ms"), (.milliseconds(7), "0.007 s", "7.0 ms"),
    (.microseconds(1_234_567), "1.234 s", "1.234 s"),
    (.nanoseconds(999_999_999), "0.999 s", "999.9 ms"),
    (.seconds(3600), "3600.000 s", "3600.000 s"),
  ])
  func durations(_ duration: Duration, _ seconds: String, _ short: String) {
    #expect(duration.inSeconds == seconds)
    #expect(duration.inShort == short)
  }
}
