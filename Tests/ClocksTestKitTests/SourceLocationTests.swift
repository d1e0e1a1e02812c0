import Clocks
import ClocksSupport
import ClocksTestKit
import Foundation
import Testing

/// Helpers that pass the place of their call on.
@Suite struct SourceLocationTests {
  private let clock = TestClock()

  private func expectSoon(sourceLocation: SourceLocation = #_sourceLocation) async {
    await clock.eventually(within: .seconds(1), sourceLocation: sourceLocation) { false }
  }

  @Test func aHelperFailsWhereItIsCalled() async throws {
    let line = #line + 1
    let failures = try await failures { await expectSoon() }
    #expect(failures.map(\.line) == [line])
  }

  @Test func everyExpectationTakesASourceLocation() async throws {
    let here = SourceLocation(
      fileID: "Kit/Helper.swift", filePath: "/Kit/Helper.swift", line: 7, column: 3)
    let failures = try await failures {
      await clock.eventually(within: .zero, sourceLocation: here) { false }
      await clock.never(within: .zero, sourceLocation: here) { true }
      await clock.advance(by: .seconds(-1), sourceLocation: here)
      await clock.advance(upTo: .seconds(-1), until: { true }, sourceLocation: here)
      await TimedExpectation("a").wait(within: .zero, on: clock, sourceLocation: here)
      await confirmation("b", within: .zero, on: clock, sourceLocation: here) { _ in }
      await confirmation("c", expectedCount: 1..., within: .zero, on: clock, sourceLocation: here) {
        _ in
      }
      await expectTimeline(of: [1].async, "2|", on: clock, sourceLocation: here)
      await expectTimeline(
        of: [1].async, "a|", values: ["a": 2], on: clock, sourceLocation: here)
      let probe = Probe([1].async, on: clock, sourceLocation: here)
      await probe.expectEnd(within: .zero, sourceLocation: here)
      await probe.next(within: .zero, sourceLocation: here)
      await probe.expectError(within: .zero, sourceLocation: here)
      await probe.expectNext(2, within: .zero, sourceLocation: here)
      let other = Probe([1].async, on: clock, sourceLocation: here)
      await other.expectNothing(sourceLocation: here)
      await other.finish(sourceLocation: here)
    }
    #expect(failures.count == 15)
    #expect(failures.map(\.line).allSatisfy { $0 == 7 })
  }

  @Test func everyMoveOfAClockTakesASourceLocation() async throws {
    let here = SourceLocation(
      fileID: "Kit/Helper.swift", filePath: "/Kit/Helper.swift", line: 5, column: 3)
    let sleeper = Task { while true { try await clock.sleep(for: .seconds(1)) } }
    await clock.settle(sourceLocation: here)
    let failures = try await failures {
      await clock.advance(by: .seconds(-1), sourceLocation: here)
      await clock.run(timeout: .zero, sourceLocation: here)
    }
    #expect(failures.map(\.line) == [5, 5])
    let now = clock.now
    #expect(await clock.advanceToNextSleep(sourceLocation: here) == now.advanced(by: .seconds(1)))
    await clock.advance(to: now.advanced(by: .seconds(5)), sourceLocation: here)
    #expect(clock.now == now.advanced(by: .seconds(5)))
    await #expect(throws: SuspensionError.self) {
      try await clock.checkSuspension(sourceLocation: here)
    }
    sleeper.cancel()
  }

  @Test(.virtualTime) func everyMoveOfAScopeTakesASourceLocation() async throws {
    let here = SourceLocation(
      fileID: "Kit/Helper.swift", filePath: "/Kit/Helper.swift", line: 6, column: 3)
    let time = try VirtualTime.required
    let failures = try await failures {
      await time.advance(by: .seconds(-1), sourceLocation: here)
      await time.advance(upTo: .seconds(-1), until: { true }, sourceLocation: here)
      await time.eventually(within: .zero, sourceLocation: here) { false }
      await time.never(within: .zero, sourceLocation: here) { true }
    }
    #expect(failures.map(\.line) == [6, 6, 6, 6])
    let now = time.now
    let sleeper = Task { try await Task.sleep(for: .seconds(1)) }
    await time.settle(sourceLocation: here)
    #expect(await time.advanceToNextSleep(sourceLocation: here) == now.advanced(by: .seconds(1)))
    await time.advance(to: now.advanced(by: .seconds(5)), sourceLocation: here)
    #expect(time.now == now.advanced(by: .seconds(5)))
    try await sleeper.value
  }

  @Test func aScopeTakesASourceLocation() async throws {
    let here = SourceLocation(
      fileID: "Kit/Helper.swift", filePath: "/Kit/Helper.swift", line: 9, column: 3)
    let failures = try await failures {
      try await withVirtualTime(leftoverSleeps: .fail, sourceLocation: here) { _ in
        _ = Task { try await Task.sleep(for: .seconds(1)) }
      }
      try await withVirtualTime(leftoverSleeps: .fail, sourceLocation: here) {
        _ = Task { try await Task.sleep(for: .seconds(1)) }
      }
    }
    #expect(failures.map(\.line) == [9, 9])
  }

  @Test func aScopeWithASourceLocationTakesEachOption() async throws {
    let here = SourceLocation(
      fileID: "Kit/Helper.swift", filePath: "/Kit/Helper.swift", line: 10, column: 3)
    var isDateReal = false
    let failures = try await failures {
      try await withVirtualTime(
        autoAdvance: false, jumpsAfter: .seconds(-1), leftoverSleeps: .fail,
        stuckAfter: .seconds(-2), freezesDate: false, runningLimit: .seconds(-3),
        sourceLocation: here
      ) { time in
        let date = Date()
        await time.advance(by: .seconds(86_400))
        isDateReal = Date().timeIntervalSince(date) < 3_600
      }
    }
    #expect(isDateReal)
    #expect(failures.map(\.line) == [10])
    for option in ["jumpsAfter", "stuckAfter", "runningLimit"] {
      #expect(failures.first?.text.contains("`\(option):`") == true)
    }
  }

  @Test func aSearchTakesASourceLocation() async throws {
    let here = SourceLocation(
      fileID: "Kit/Helper.swift", filePath: "/Kit/Helper.swift", line: 11, column: 3)
    let failures = try await failures {
      try await withSchedules(3, sourceLocation: here) { _ in throw CancellationError() }
      try await withSchedules(3, sourceLocation: here) { throw CancellationError() }
      try await withSchedules(.upTo(3), sourceLocation: here) { _ in throw CancellationError() }
      try await withSchedules(.upTo(3), sourceLocation: here) { throw CancellationError() }
      try await withSchedules(for: .seconds(9), sourceLocation: here) { _ in
        throw CancellationError()
      }
      try await withSchedules(for: .seconds(9), sourceLocation: here) { throw CancellationError() }
    }
    #expect(failures.map(\.line) == Array(repeating: 11, count: 6))
  }

  @Test func aDynamicCallSiteReadsLikeAStaticOne() {
    let site = CallSite(
      dynamicFileID: "Kit/Füße.swift", filePath: "/Kit/A.swift", line: 7, column: 3)
    #expect("\(site.fileID)" == "Kit/Füße.swift")
    #expect(site.filePath.description == "/Kit/A.swift")
    #expect(site.filePath.isASCII && !site.fileID.isASCII)
    #expect(site.filePath.utf8CodeUnitCount == 12)
    let again = CallSite(dynamicFileID: "", filePath: "/Kit/A.swift", line: -1, column: 0)
    #expect(again.filePath.utf8Start == site.filePath.utf8Start)
    #expect(again.line == 0)
  }
}

extension Array where Element: Sendable {
  fileprivate var async: AsyncStream<Element> {
    AsyncStream { continuation in
      for element in self { continuation.yield(element) }
      continuation.finish()
    }
  }
}
