import XCTest

/// A test that runs another one, as the tests of a library for tests do.
final class EverywhereXCTNestedSamples: SampleCase {
  func testRunsAnotherTest() {
    var hasRun = false
    EverywhereInnerCase(name: "testInner") { _ in hasRun = true }.run()
    guard !hasRun else { return }
    // Once the inner test is over, XCTest records no failure.
    fatalError("the inner test has not run")
  }
}

/// Has no method that XCTest would find.
final class EverywhereInnerCase: XCTestCase {}
