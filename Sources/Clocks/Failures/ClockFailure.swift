import ClocksSupport

/// Failures about the use of a clock.
enum ClockFailure {
  static func negativeDuration(_ duration: String, in name: String, now: String) -> String {
    """
    \(name) expects a duration of zero or more, but got \(duration). Time stays at \
    \(now): a clock does not run backwards. Make a new clock to start again.
    """
  }

  static func instantInThePast(_ instant: String, in name: String, now: String) -> String {
    """
    \(name) expects an instant that is not in the past, but got \(instant). Time stays \
    at \(now): a clock does not run backwards. Make a new clock to start again.
    """
  }

  static func negativeLimit(_ limit: String, in name: String, now: String) -> String {
    """
    \(name) expects a limit of zero or more, but got \(limit). Time stays at \(now): a clock does not \
    run backwards.
    """
  }

  static func negativeTimeout(_ timeout: String, in name: String, now: String) -> String {
    """
    \(name) expects a timeout of zero or more, but got \(timeout). Time stays at \(now). Pass the real time \
    that the call may take, or leave the argument out.
    """
  }

  static func runaway(
    _ reason: Runaway, in name: String, now: String, pending: [String]
  ) -> String {
    """
    \(name) gave up at \(now), because the test does not become idle: \(reason.description)
    Pending sleeps:\(pending.listedBelow)
    """
  }

  static func endlessRun(
    timeout: String, wakes: Int, passed: String, pending: [String]
  ) -> String {
    """
    TestClock.run() expects that at some time no sleep is pending, but after \(timeout) of real \
    time, \(wakes) wakes and \(passed) of the clock's time there still \
    \(pending.count == 1 ? "is one" : "are \(pending.count)"):
    \(pending.listed)
    A task that sleeps in an endless loop never ends by itself: cancel it, or advance by a known \
    duration instead.
    """
  }

  static func useByOtherTest(
    of name: String, origin: CallSite, now: String, pending: [String]
  ) -> String {
    """
    \(name) was called by a task of another test than the one that made the clock, at \
    \(origin.fileID):\(origin.line). The two tests run in parallel, so neither can know when the \
    tasks of the other have run as far as they can. Make a clock in each test; one in a static or global \
    variable is shared by all of them.
    It is \(now). Pending sleeps:\(pending.listedBelow)
    """
  }

  /// The failure of a clock that belongs to no running test, in a test that already uses another clock.
  static func madeApart(
    _ name: String, origin: CallSite, other: CallSite, now: String, pending: [String]
  ) -> String {
    """
    \(name) was called in a test that uses another clock already, the one made at \
    \(other.fileID):\(other.line). This one was made outside the test, in another place \
    (\(origin.fileID):\(origin.line)), so the clocks have different schedulers, and neither clock can wait for \
    the tasks of the other. Make both clocks in the test, or both in one expression, as in \
    `static let clocks = (TestClock(), TestClock())`.
    It is \(now). Pending sleeps:\(pending.listedBelow)
    """
  }

  static func shared(_ origin: CallSite, by count: Int) -> String {
    """
    The clock made at \(origin.fileID):\(origin.line) is used by \(count) test cases at the same time. \
    Each moves it while tasks of the others still run, so the times that they read are \
    unpredictable. Make a clock in each test; one in a static or global variable is for tests that \
    run one after another (`@Suite(.serialized)`).
    """
  }
}

extension Collection where Element: CustomStringConvertible {
  /// The elements as indented lines. A long list is cut.
  var listed: String {
    let limit = 20
    var lines = prefix(limit).map { "  - \($0)" }
    if count > limit { lines.append("  - and \(count - limit) more") }
    return lines.joined(separator: "\n")
  }

  /// The end of a text that lists the elements, one on each line below; ` none` if there are no elements.
  var listedBelow: String { isEmpty ? " none" : "\n" + listed }
}
