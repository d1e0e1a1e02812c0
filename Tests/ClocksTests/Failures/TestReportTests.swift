import ClocksSupport
import Foundation
import Testing

@testable import Clocks

/// Failures that a thread outside all tests records on behalf of a test.
@Suite struct TestReportTests {
  private enum Local {
    @TaskLocal static var value = "unset"
    @TaskLocal static var kept: Kept?
  }

  private final class Kept: Sendable {}

  /// A test library knows the test by its task-local values.
  @Test func allReportsBelongToTheTest() async {
    let log = Log<String>()
    await Local.$value.withValue("the test's") {
      let report = TestReport(at: CallSite(), isTestKnown: true)
      await withUnsafeContinuation { continuation in
        Thread.detachNewThread {
          for number in 1...3 { report.runInTest { log.add("\(number): \(Local.value)") } }
          continuation.resume()
        }
      }
    }
    #expect(log.all == ["1: the test's", "2: the test's", "3: the test's"])
  }

  /// Threads report failures of one test at the same time. Each is reported once, and belongs to the test.
  @Test func concurrentReportsBelongToTheTest() {
    let log = Log<(number: Int, value: String)>()
    let report = Local.$value.withValue("the test's") {
      TestReport(at: CallSite(), isTestKnown: true)
    }
    DispatchQueue.concurrentPerform(iterations: 20_000) { number in
      report.runInTest { log.add((number, Local.value)) }
    }
    #expect(log.all.map(\.number).sorted() == Array(0..<20_000))
    #expect(log.all.count { $0.value != "the test's" } == 0)
  }

  @Test func aContextFreesWhatItHolds() {
    weak var kept: Kept?
    do {
      let value = Kept()
      kept = value
      Local.$kept.withValue(value) {
        let report = TestReport(at: CallSite(), isTestKnown: true)
        for _ in 0..<2 { report.runInTest { #expect(Local.kept === value) } }
      }
    }
    #expect(kept == nil)
  }
}
