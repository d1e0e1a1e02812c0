// A test bundle that knows nothing of virtual time, and does not contain this package. `PlainBundleTests` and
// `Scripts/plant-secrets` compile it and run it with the preloaded library.

import CoreFoundation
import Foundation
import XCTest

final class PlainTests: XCTestCase {
  static let all: [(String, (PlainTests) -> () throws -> Void)] = [
    ("testClocks", asyncTest(testClocks)), ("testSleeps", testSleeps),
    ("testARunLoop", testARunLoop), ("testSignals", asyncTest(testSignals)),
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

extension PlainTests {
  nonisolated(unsafe) private static var signals = 0
  nonisolated(unsafe) private static var isOver = false

  /// Reads the clocks in a signal handler while tasks run.
  ///
  /// Each signal is sent when the previous one was handled. A microsecond passes with each reading, so there are at
  /// most 500 signals.
  func testSignals() async {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in
      var (date, uptime, ofDay) = (timespec(), timespec(), timeval())
      clock_gettime(CLOCK_REALTIME, &date)
      clock_gettime(CLOCK_MONOTONIC_COARSE, &uptime)
      gettimeofday(&ofDay, nil)
      time(nil)
      PlainTests.signals += 1
    }
    action.sa_flags = SA_RESTART
    sigaction(SIGUSR1, &action, nil)
    var thread = pthread_t()
    // A thread that belongs to no test, and so sleeps in real time.
    pthread_create(
      &thread, nil,
      { _ in
        var blocked = sigset_t()
        sigaddset(&blocked, SIGUSR1)
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
        while PlainTests.signals < 500, !PlainTests.isOver || PlainTests.signals == 0 {
          let before = PlainTests.signals
          kill(getpid(), SIGUSR1)
          for _ in 0..<1_000 where PlainTests.signals == before { usleep(20) }
        }
        return nil
      }, nil)
    for _ in 0..<50 {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<20 {
          group.addTask { @Sendable in
            await Task.yield()
            Task { @MainActor in await Task.yield() }
          }
        }
      }
    }
    Self.isOver = true
    pthread_join(thread, nil)
    XCTAssertGreaterThan(Self.signals, 0)
  }
}

XCTMain([testCase(PlainTests.all)])
