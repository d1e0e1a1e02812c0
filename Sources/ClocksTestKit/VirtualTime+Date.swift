import Clocks

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension VirtualTime {
  /// What `Date()` reads in the scope: the date at which the scope began, and the time that has
  /// passed in it since.
  ///
  /// A test may set it, to begin on a certain day or to see what happens when somebody sets the
  /// system's clock. No sleep wakes sooner or later for it, and no other clock follows:
  ///
  /// ```swift
  /// @Test(.virtualTime) func aDayLater() async throws {
  ///   let time = try #require(VirtualTime.current)
  ///   time.date = Date(timeIntervalSince1970: 0)
  ///   try await Task.sleep(for: .seconds(86_400))
  ///   #expect(Date() == Date(timeIntervalSince1970: 86_400))
  /// }
  /// ```
  ///
  /// It is exact to the microsecond, which is what a `Date` can hold. Where the runtime's clocks
  /// cannot be made to read virtual time (see `withVirtualTime`), and in a scope with
  /// `freezesDate: false`, `Date()` does not follow, and only this property does. O(1).
  public var date: Date {
    get {
      let (seconds, attoseconds) = sinceEpoch.components
      return Date(timeIntervalSince1970: Double(seconds) + Double(attoseconds) / 1e18)
    }
    set {
      let microseconds = (newValue.timeIntervalSince1970 * 1_000_000).rounded()
      sinceEpoch = .microseconds(Int64(clamping: microseconds))
    }
  }
}

extension Int64 {
  /// The whole number that is nearest; not a number is zero.
  fileprivate init(clamping number: Double) {
    self =
      if number.isNaN {
        0
      } else {
        Int64(exactly: number) ?? (number < 0 ? .min : .max)
      }
  }
}
