import Foundation
import TestTraits
import Testing
import XCTest

/// Writes to a pipe after 0.2 seconds, and calls `end` on a block's thread when all is read.
private func readPipe(_ end: @escaping @Sendable () -> Void) {
  let pipe = Pipe()
  DispatchQueue.global().async {
    while !pipe.fileHandleForReading.availableData.isEmpty {}
    end()
  }
  DispatchQueue.global().asyncAfter(deadline: .now() + 0.2) {
    pipe.fileHandleForWriting.write(Data("abc".utf8))
    pipe.fileHandleForWriting.closeFile()
  }
}

/// Tests that virtual time continues without their threads, which it wakes. Each test also passes in real time.
final class EverywhereXCTAbandonedSamples: TimedSamples, @unchecked Sendable {
  override func setUp() async throws {
    Task { try await Task.sleep(for: .milliseconds(100)) }
  }

  func testWaitsForAnExpectation() {
    let done = expectation(description: "all is read")
    readPipe { done.fulfill() }
    wait(for: [done], timeout: 3)
    check(2)
  }

  func testWaitsForASemaphore() {
    let done = DispatchSemaphore(value: 0)
    readPipe { done.signal() }
    XCTAssertEqual(done.wait(timeout: .now() + 3), .success)
    check(2)
  }

  func testAwaitsAnExpectation() async {
    let done = expectation(description: "all is read")
    readPipe { done.fulfill() }
    await fulfillment(of: [done], timeout: 3)
    check(2)
  }
}

@Suite(.enabled(if: runsSamples)) struct EverywhereAbandonedSamples {
  @Test func awaitsABlock() async throws {
    let start = ContinuousClock.now
    await withTaskGroup { group in
      group.addTask { await withCheckedContinuation { end in readPipe { end.resume() } } }
      group.addTask { try? await Task.sleep(for: .seconds(3)) }
      await group.next()
      group.cancelAll()
    }
    #expect(ContinuousClock.now - start < .seconds(0.3))
  }
}
