import ClocksSupport

/// The texts of the instants in one table or picture, for example `0.25 s`.
///
/// An instant between two nanoseconds, as random delays cause it, is rounded to the nearest one and marked: `≈0.3 s`.
/// It stays exact if another instant would be rounded to the same nanosecond.
package struct InstantTexts: Sendable {
  private var rounded: [Duration: String] = [:]

  package init(_ instants: some Sequence<Duration>) {
    let groups = Dictionary(grouping: Set(instants), by: \.inNanoseconds)
    for (rounded, instants) in groups where instants.count == 1 && instants[0] != rounded {
      self.rounded[instants[0]] = "≈" + rounded.inSeconds
    }
  }

  package subscript(instant: Duration) -> String { rounded[instant] ?? instant.inSeconds }
}

extension Duration {
  /// The nearest whole number of nanoseconds.
  fileprivate var inNanoseconds: Duration {
    let unit: Int128 = 1_000_000_000
    let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: unit)
    let nearest = whole + (rest.magnitude < 500_000_000 ? 0 : rest.signum())
    let (rounded, isTooLong) = nearest.multipliedReportingOverflow(by: unit)
    return isTooLong ? self : Duration(attoseconds: rounded)
  }
}
