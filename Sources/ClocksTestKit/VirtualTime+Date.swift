import Clocks
import ClocksSupport

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension VirtualTime {
  /// The date that `Date()` reads in the scope: the date at its beginning plus the scope's time.
  ///
  /// A test may set it, to begin on a certain day, or to simulate a change of the system's date. On Linux, pending
  /// work of Dispatch with a `wallDeadline` follows the change: it begins when its date comes, or as soon as time may
  /// move if its date has passed. This changes no sleep and no other clock:
  ///
  /// ```swift
  /// @Test(.virtualTime) func aDayLater() async throws {
  ///   let time = try VirtualTime.required
  ///   time.date = Date(timeIntervalSince1970: 0)
  ///   try await Task.sleep(for: .seconds(86_400))
  ///   #expect(Date() == Date(timeIntervalSince1970: 86_400))
  /// }
  /// ```
  ///
  /// The property is exact to the microsecond, the precision of `Date`. A date that is out of range becomes the nearest
  /// one. To set a date that is not a number is a failure of the test, and changes nothing. In some scopes, `Date()`
  /// reads the real date, and only this property reads the virtual date. These are scopes with `freezesDate: false`,
  /// and scopes where the runtime's clocks cannot read virtual time: see `withVirtualTime`. O(1).
  public var date: Date {
    get { Date(timeIntervalSince1970: sinceEpoch.seconds) }
    set {
      let microseconds = (newValue.timeIntervalSince1970 * 1_000_000).rounded()
      guard !microseconds.isNaN else {
        return recordMisuse(
          """
          `date` was set to a date that is not a number. The date stays what it was. Look where the number of \
          seconds comes from.
          """)
      }
      let nearest = Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max)
      sinceEpoch = .microseconds(nearest)
    }
  }
}
