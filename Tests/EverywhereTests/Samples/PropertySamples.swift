import Clocks
import Foundation
import XCTest

/// Test cases whose properties hold clocks. XCTest makes the properties before it runs any test.
class EverywhereXCTPropertySamples: SampleCase {
  fileprivate final class Model: Sendable {
    let clock: any Clock<Duration>

    init(clock: any Clock<Duration>) { self.clock = clock }
  }

  fileprivate func check(_ clock: TestClock<Duration>) async throws {
    let task = Task { try await clock.sleep(for: .seconds(60)) }
    await clock.advance(by: .seconds(60))
    try await task.value
  }
}

final class EverywhereXCTClockSamples: EverywhereXCTPropertySamples {
  private let clock = TestClock()

  func testAClockOfTheTestCase() async throws { try await check(clock) }
}

final class EverywhereXCTModelSamples: EverywhereXCTPropertySamples {
  private var model: Model? = Model(clock: TestClock())

  func testAClockOfAModel() async throws {
    try await check(XCTUnwrap(model?.clock as? TestClock<Duration>))
  }
}

final class EverywhereXCTSetUpSamples: EverywhereXCTPropertySamples {
  private var clock: TestClock<Duration>?

  override func setUp() { clock = TestClock() }

  func testAClockMadeInSetUp() async throws { try await check(XCTUnwrap(clock)) }
}

final class EverywhereXCTStaticSamples: EverywhereXCTPropertySamples {
  private static let clock = TestClock()

  override class func setUp() { if runsSamples { _ = clock } }

  /// Each sleep that is ended before its deadline is followed by another one.
  func testNothingMovesTheClock() async {
    let start = Self.clock.now
    while Self.clock.now == start { try? await Self.clock.sleep(for: .seconds(1)) }
  }
}

final class EverywhereXCTLostSamples: EverywhereXCTPropertySamples {
  func testLosesAContinuation() async {
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
  }
}
