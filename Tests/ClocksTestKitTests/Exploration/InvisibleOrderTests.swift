import ClocksTestKit
import Foundation
import Testing

@testable import Clocks

/// Orders that no record of a run shows: of locks, of threads, of errors of one type.
@Suite struct InvisibleOrderTests {
  /// No step of this test touches an actor.
  @Test func reversesTheOrderOfALock() async throws {
    let found = try await failures {
      try await withSchedules(.exhaustive(reversals: 2)) { _ in
        let log = Log<String>()
        await withTaskGroup { group in
          for name in ["a", "b", "c"] { group.addTask { log.add(name) } }
        }
        #expect(log.all != ["c", "b", "a"])
      }
    }
    #expect(found.count == 1)
    #expect(
      found.first?.text.contains("undo any and this failure does not occur:") == true, "\(found)")
  }

  @Test func anErrorOfOneTypeIsNotAnother() async throws {
    enum Wrong: Error { case order, count }
    func key(_ error: any Error) -> String { Finding(thrown: error).key }
    #expect(key(Wrong.order) != key(Wrong.count))
    #expect(key(Violation(text: "two downloads")) != key(Violation(text: "no downloads")))
    #expect(
      key(Violation(text: "at 0x7f01 after 3 s")) == key(Violation(text: "at 0x7fe2 after 12 s")))
    let found = try await failures {
      try await withSchedules(1_000) { _ in
        let log = Log<String>()
        await withTaskGroup { group in
          for name in ["a", "b", "c"] { group.addTask { log.add(name) } }
        }
        // The first order that fails has another error than the nearest order does.
        if log.all == ["c", "b", "a"] { throw Wrong.order }
        if log.all.first != "a" { throw Wrong.count }
      }
    }
    #expect(found.count == 1)
    let text = try #require(found.first?.text)
    #expect(text.hasPrefix("the operation threw Wrong: order\nSchedule 3 of 1,000"), "\(text)")
    #expect(text.contains("failed in 2 of 2 replays"), "\(text)")
  }

  #if os(Linux)
    /// A thread resumes the test when the search has found that nothing can run: before the tasks are inspected,
    /// meanwhile, after, or never.
    @Test func aDeadlockThatAThreadEndsIsNotSaidToHaveAReadyTask() async throws {
      var reports = 0
      for delay in [0, 20, 50, 100, 200, 500, 1_000, 3_000, nil] as [UInt32?] {
        let found = try await failures {
          try await withSchedules(1) { _ in
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
              guard let delay else { return }
              Thread.detachNewThread {
                usleep(delay)
                continuation.resume()
              }
            }
          }
        }
        for text in found.map(\.text) {
          reports += 1
          #expect(text.hasPrefix("A deadlock at 0.0 seconds"), "\(text)")
          guard text.contains("is ready to run") else { continue }
          #expect(!text.contains("nothing can run"), "\(text)")
          #expect(text.contains("unless work outside the test ends it"), "\(text)")
        }
      }
      #expect(reports >= 1)
    }
  #endif
}
