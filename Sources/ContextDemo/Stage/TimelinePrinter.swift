/// Writes a scenario's heading, the entries of its timeline and a last line.
struct TimelinePrinter: Sendable {
  let output: Output

  private var style: Style { output.style }

  func heading(_ scenario: any Scenario.Type) {
    let name = scenario.name
    // Broken first: the terminal does not count the characters that make text stand out.
    let text = "\(name): \(scenario.summary)".wrapped(to: output.width, indent: 2)
    output.write(style(.bold, name) + text.dropFirst(name.count))
  }

  func entry(_ entry: Timeline.Entry) {
    let time = entry.time.inSeconds.padded(to: 11, from: .leading)
    // Padded first: the terminal does not count the characters that change its colour.
    let who = style(.name(entry.who), entry.who.padded(to: 10, from: .trailing))
    let start = 11 + 2 + max(10, entry.who.count) + 2
    let what = (String(repeating: " ", count: start) + entry.what)
      .wrapped(to: output.width, indent: start).dropFirst(start)
    output.write("\(style(.dim, time))  \(who)  \(what)")
  }

  func end(_ outcome: Performance.Outcome, on clock: ClockChoice) {
    let line =
      switch clock {
      case .test:
        "\(outcome.elapsed.inSeconds) of virtual time in \(outcome.real.inShort) of real time"
      case .immediate: "\(outcome.elapsed.inSeconds) of sleep skipped in \(outcome.real.inShort)"
      case .continuous: "\(outcome.elapsed.inSeconds) of real time"
      }
    output.write(style(.dim, ("  " + line).wrapped(to: output.width, indent: 2)))
  }
}

extension Duration {
  /// For example `3.000 s`; what is finer than a millisecond is cut off.
  var inSeconds: String {
    let (seconds, attoseconds) = components
    let milliseconds = String(attoseconds / 1_000_000_000_000_000)
    let zeros = String(repeating: "0", count: 3 - milliseconds.count)
    return "\(seconds).\(zeros)\(milliseconds) s"
  }

  /// For example `0.4 ms`, or `1.234 s` from a second upwards.
  var inShort: String {
    guard self < .seconds(1) else { return inSeconds }
    let tenths = components.attoseconds / 100_000_000_000_000
    return "\(tenths / 10).\(tenths % 10) ms"
  }
}

extension String {
  enum Side { case leading, trailing }

  /// The string with as many spaces added on one side as it needs to be `width` characters long.
  func padded(to width: Int, from side: Side) -> String {
    let spaces = String(repeating: " ", count: max(0, width - count))
    return side == .leading ? spaces + self : self + spaces
  }
}
