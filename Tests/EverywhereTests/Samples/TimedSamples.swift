import Foundation
import XCTest

/// A test case whose tests run only in a process that runs samples.
class SampleCase: XCTestCase {
  override func setUpWithError() throws { try XCTSkipUnless(runsSamples) }
}

/// Samples that check how much time has passed since each began. They pass in virtual and in real time.
class TimedSamples: SampleCase, @unchecked Sendable {
  static let isReal = ProcessInfo.processInfo.environment["CLOCKS_EVERYWHERE"] == "real"

  private(set) var start = Date()

  override func setUp() { start = Date() }

  /// Checks that so many tenths of a second have passed.
  func check(_ tenths: Int, line: UInt = #line) {
    // In real time, a wait of XCTest notices its fulfillment up to a tenth of a second late.
    XCTAssertEqual(
      Date().timeIntervalSince(start), Double(tenths) / 10, accuracy: Self.isReal ? 0.19 : 0.011,
      line: line)
  }
}
