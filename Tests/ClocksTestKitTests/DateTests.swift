import Clocks
import ClocksTestKit
import Foundation
import Testing

@Suite struct DateTests {
  private static let newYear = Date(timeIntervalSince1970: 1_767_225_600)

  @Test(.virtualTime(date: newYear)) func aTestBeginsAtADate() async throws {
    #expect(Date() == Self.newYear)
    try await Task.sleep(for: .milliseconds(86_400_500))
    #expect(Date() == Self.newYear + 86_400.5)
    #expect(VirtualTime.current?.date == Date())
  }

  @Test(.virtualTime) func theDateCanBeSet() async throws {
    let time = try #require(VirtualTime.current)
    try await Task.sleep(for: .seconds(10))
    time.date = Date(timeIntervalSince1970: 0)
    #expect(Date() == Date(timeIntervalSince1970: 0))
    try await Task.sleep(for: .seconds(60))
    #expect(Date() == Date(timeIntervalSince1970: 60))
    time.date = Date(timeIntervalSince1970: -3_600)
    #expect(Date() == Date(timeIntervalSince1970: -3_600))
    #expect(time.date == Date(timeIntervalSince1970: -3_600))
  }

  @Test(.virtualTime) func noOtherClockFollowsTheDate() async throws {
    let time = try #require(VirtualTime.current)
    let start = ContinuousClock.now
    let sleep = Task {
      try await Task.sleep(for: .seconds(1))
      return time.now
    }
    time.date += 86_400
    #expect(ContinuousClock.now == start)
    #expect(try await sleep.value.offset == .seconds(1))
  }

  @Test(.virtualTime) func aDateThatIsNotANumberIsAFailure() async throws {
    let time = try #require(VirtualTime.current)
    time.date = .distantPast
    #expect(Date() == .distantPast)
    time.date = .distantFuture
    #expect(Date() == .distantFuture)
    time.date = Date(timeIntervalSince1970: .infinity)
    #expect(Date() > .distantFuture)
    time.date = Date(timeIntervalSince1970: 0)
    withKnownIssue {
      time.date = Date(timeIntervalSince1970: .nan)
    } matching: {
      $0.comments.contains { $0.rawValue.contains("a date that is not a number") }
    }
    #expect(Date() == Date(timeIntervalSince1970: 0))
  }

  @Test(.virtualTime) func theDateAfterASleepForeverDoesNotTrap() async throws {
    let time = try #require(VirtualTime.current)
    await time.advance(by: .seconds(Int64.max))
    #expect(time.date > .distantFuture)
    time.date = Date(timeIntervalSince1970: 0)
    #expect(time.date == Date(timeIntervalSince1970: 0))
  }

  @Test(.virtualTime(freezesDate: false)) func withoutFrozenDatesOnlyThePropertyIsSet() throws {
    let time = try #require(VirtualTime.current)
    time.date = Date(timeIntervalSince1970: 0)
    #expect(time.date == Date(timeIntervalSince1970: 0))
    #expect(Date() > Date(timeIntervalSince1970: 1_000_000_000))
  }

  @Test(.virtualTime) func innerScopesHaveTheirOwnDate() async throws {
    let time = try #require(VirtualTime.current)
    time.date = Date(timeIntervalSince1970: 0)
    try await withVirtualTime { inner in
      #expect(Date() == Date(timeIntervalSince1970: 0))
      #expect(inner.date == Date(timeIntervalSince1970: 0))
      inner.date = Date(timeIntervalSince1970: 1_000)
      #expect(Date() == Date(timeIntervalSince1970: 1_000))
      #expect(time.date == Date(timeIntervalSince1970: 0))
    }
    #expect(Date() == Date(timeIntervalSince1970: 0))
  }
}
