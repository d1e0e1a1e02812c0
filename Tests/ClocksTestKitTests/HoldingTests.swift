import Clocks
import ClocksTestKit
import Dispatch
import Foundation
import Testing

/// Expectations of external work within `holding`. Each repetition has its own scope.
@Suite struct HoldingTests {
  @Test(.repeated(1_000), .virtualTime)
  func eventuallyAndNeverWait() async throws {
    let time = try #require(VirtualTime.current)
    let seconds = Seconds()
    Task {
      // External work that takes real time.
      await time.holding {
        await withCheckedContinuation { continuation in
          Thread.detachNewThread { continuation.resume() }
        }
      }
      try await Task.sleep(for: .seconds(1))
      await seconds.add()
    }
    Task { try await Task.sleep(for: .seconds(3)) }
    #expect(await time.eventually(within: .seconds(5)) { await seconds.count == 1 } == .seconds(1))
    #expect(await time.never(within: .milliseconds(1500)) { await seconds.count == 2 })
    #expect(time.now.offset == .milliseconds(2500))
  }

  @Test(.repeated(1_000), .virtualTime)
  func expectationsWait() async throws {
    let time = try #require(VirtualTime.current)
    let answer = TimedExpectation("answer")
    Task {
      await time.holding {
        await withCheckedContinuation { continuation in
          Thread.detachNewThread {
            answer.fulfill()
            continuation.resume()
          }
        }
      }
    }
    #expect(await answer.wait(within: .seconds(60)) == .zero)
  }
}
