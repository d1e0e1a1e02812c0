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

    /// Dispatch makes a work item for `sync` with most flags, too. The main thread runs nothing else of the test.
    @Test(.virtualTime, arguments: [false, true])
    func itemsOfSyncBelongToTheTest(_ hasFlags: Bool) async throws {
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        @Sendable func resumeLater() {
          DispatchQueue.main.asyncAfter(deadline: .now() + 60) { continuation.resume() }
        }
        DispatchQueue.global().async {
          if hasFlags {
            DispatchQueue.main.sync(flags: .enforceQoS) { resumeLater() }
          } else {
            DispatchQueue.main.sync(execute: DispatchWorkItem { resumeLater() })
          }
        }
      }
      #expect(VirtualTime.current?.now == .seconds(60))
    }
  #endif
}
