import ClocksTestKit
import Dispatch
import Foundation
import Testing

@testable import Clocks

@globalActor private actor Shared { static let shared = Shared() }

/// Work of a test that begins on a thread that runs for another test, or for none.
@Suite struct OtherThreadTests {
  /// The thread of another test takes a task out of the actor's queue while the task is created.
  @Test(.repeated(8), .virtualTime)
  func tasksOnASharedActorBelongToTheirTest() async throws {
    let mine = try VirtualTime.required
    for round in 1...500 {
      try await Task { @Shared in
        #expect(VirtualTime.current === mine)
        try await Task.sleep(for: .seconds(1))
      }.value
      #expect(mine.now == .seconds(round))
    }
  }

  #if os(Linux) && canImport(Glibc)
    @Test(.virtualTime) func iterationsBelongToTheTest() async throws {
      let ended = Tally()
      DispatchQueue.concurrentPerform(iterations: 8) { _ in
        usleep(2_000)
        Task {
          try await Task.sleep(for: .seconds(1))
          ended.add()
        }
      }
      try await Task.sleep(for: .seconds(2))
      #expect(ended.value == 8)
    }

    /// The main thread runs nothing else of the test.
    @Test(.virtualTime) func itemsOfSyncBelongToTheTest() async throws {
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        DispatchQueue.global().async {
          let item = DispatchWorkItem {
            DispatchQueue.main.asyncAfter(deadline: .now() + 60) { continuation.resume() }
          }
          DispatchQueue.main.sync(execute: item)
        }
      }
      #expect(VirtualTime.current?.now == .seconds(60))
    }
  #endif
}
