import Clocks
import ClocksTestKit
import Dispatch
import Foundation
import Testing

/// The main queue, as seen by code that asks Dispatch where it runs.
private let mainKey: DispatchSpecificKey<Bool> = {
  let key = DispatchSpecificKey<Bool>()
  DispatchQueue.main.setSpecific(key: key, value: true)
  return key
}()

/// Where synchronous code runs.
///
/// Identifies the main queue instead of the main thread. On Linux, other threads serve the main queue in a process
/// whose main function is asynchronous.
private enum Place {
  case main, pool

  static var here: Place { DispatchQueue.getSpecific(key: mainKey) == true ? .main : .pool }

  /// Traps if it runs on the main queue.
  static func offMain() -> Place {
    dispatchPrecondition(condition: .notOnQueue(.main))
    return here
  }

  @MainActor static func onMain() -> Place {
    dispatchPrecondition(condition: .onQueue(.main))
    MainActor.preconditionIsolated()
    return here
  }
}

@concurrent private func concurrent() async -> Place { Place.offMain() }

nonisolated(nonsending) private func inherited() async -> Place { Place.here }

@globalActor private actor OtherActor {
  static let shared = OtherActor()
}

@OtherActor private func onOtherActor() async -> Place { Place.offMain() }

private actor Plain {
  func place() -> Place {
    preconditionIsolated()
    return Place.offMain()
  }

  func placeAfterMain() async -> [Place] { [place(), await Place.onMain(), place()] }
}

/// Code that is not isolated to the main actor does not run on the main thread, although one scheduler runs
/// all tasks of the test.
@Suite struct ThreadOfIsolationTests {
  @Test(.virtualTime) func inAScope() async throws { await checkEachIsolation() }

  @Test func onATestClock() async {
    let clock = TestClock()
    let task = Task {
      try await clock.sleep(for: .seconds(1))
      await checkEachIsolation()
    }
    await clock.advance(by: .seconds(1))
    await #expect(throws: Never.self) { try await task.value }
  }

  @MainActor @Test(.virtualTime) func inAScopeOnTheMainActor() async {
    #expect(Place.onMain() == .main)
    await checkEachIsolation()
    #expect(Place.onMain() == .main)
    #expect(await inherited() == .main)
  }

  @Test(.virtualTime) func aTaskGroupThatHops() async {
    await withTaskGroup(of: [Place].self) { group in
      for _ in 0..<100 {
        group.addTask { [await Place.onMain(), await concurrent(), await Place.onMain()] }
      }
      for await places in group { #expect(places == [.main, .pool, .main]) }
    }
  }

  private func checkEachIsolation() async {
    let actor = Plain()
    for _ in 0..<3 {
      #expect(await Place.onMain() == .main)
      #expect(await concurrent() == .pool)
      #expect(await Place.onMain() == .main)
      #expect(await onOtherActor() == .pool)
      #expect(await actor.placeAfterMain() == [.pool, .main, .pool])
      #expect(await Task { @MainActor in await inherited() }.value == .main)
      let detached = Task.detached { @MainActor @Sendable in await concurrent() }
      #expect(await detached.value == .pool)
      async let child = concurrent()
      #expect(await Place.onMain() == .main)
      #expect(await child == .pool)
      #expect(await Task { await actor.place() }.value == .pool)
    }
  }
}
