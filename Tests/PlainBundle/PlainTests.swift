// A test bundle that knows nothing of virtual time, and does not contain this package. `PlainBundleTests` and
// `Scripts/plant-secrets` compile it and run it with the preloaded library.

import CoreFoundation
import Foundation
import XCTest

final class PlainTests: XCTestCase {
  static let all: [(String, (PlainTests) -> () throws -> Void)] = [
    ("testClocks", asyncTest(testClocks)), ("testSleeps", testSleeps),
    ("testARunLoop", testARunLoop),
  ]

  /// The clocks that the bundle reads itself, in seconds.
  private static func readings() -> [String: Double] {
    var (date, uptime, ofDay) = (timespec(), timespec(), timeval())
    clock_gettime(CLOCK_REALTIME, &date)
    clock_gettime(CLOCK_MONOTONIC, &uptime)
    gettimeofday(&ofDay, nil)
    func seconds(_ time: timespec) -> Double { Double(time.tv_sec) + 1e-9 * Double(time.tv_nsec) }
    return [
      "clock_gettime": seconds(date), "clock_gettime, uptime": seconds(uptime),
      "gettimeofday": Double(ofDay.tv_sec) + 1e-6 * Double(ofDay.tv_usec),
      "time": Double(time(nil)),
    ]
  }

  func testClocks() async throws {
    let start = Self.readings()
    try await Task.sleep(for: .seconds(60))
    for (clock, end) in Self.readings() {
      // `time` has whole seconds.
      XCTAssertEqual(end - start[clock]!, 60, accuracy: clock == "time" ? 1 : 0.001, clock)
    }
  }

  func testSleeps() {
    let start = Date()
    func check(_ seconds: Double, line: UInt = #line) {
      XCTAssertEqual(Date().timeIntervalSince(start), seconds, accuracy: 0.001, line: line)
    }
    sleep(2)
    check(2)
    usleep(250_000)
    check(2.25)
    var duration = timespec(tv_sec: 0, tv_nsec: 250_000_000)
    nanosleep(&duration, nil)
    check(2.5)
    Thread.sleep(forTimeInterval: 0.5)
    check(3)
  }

  /// A job of the main actor runs within the run loop.
  func testARunLoop() {
    let start = Date()
    Task { @MainActor in
      try await Task.sleep(for: .milliseconds(500))
      CFRunLoopStop(CFRunLoopGetMain())
    }
    CFRunLoopRun()
    XCTAssertEqual(Date().timeIntervalSince(start), 0.5, accuracy: 0.001)
  }
}

XCTMain([testCase(PlainTests.all)])
