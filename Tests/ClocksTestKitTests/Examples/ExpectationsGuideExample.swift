import Clocks
import ClocksTestKit
import Dispatch
import Foundation
import Testing
import XCTest

/// Asks for news again and again, and says how often it has.
final class Poller: Sendable {
  let onNews: @Sendable (Int) -> Void

  init(onNews: @escaping @Sendable (Int) -> Void) {
    self.onNews = onNews
  }

  func poll(every interval: Duration, times: Int) {
    Task {
      for number in 1...times {
        try await Task.sleep(for: interval)
        onNews(number)
      }
    }
  }
}

actor Inbox {
  private(set) var numbers: [Int] = []

  func add(_ number: Int) { numbers.append(number) }
}

@Suite struct ExpectationsGuide {
  @Test(.virtualTime) func newsArriveEventually() async throws {
    let time = try VirtualTime.required
    let inbox = Inbox()
    let poller = Poller { number in Task { await inbox.add(number) } }
    poller.poll(every: .seconds(60), times: 3)

    await time.never(within: .seconds(59)) { await !inbox.numbers.isEmpty }
    let wait = await time.eventually(within: .seconds(3600), "all news are there") {
      await inbox.numbers == [1, 2, 3]
    }
    #expect(wait == .seconds(121))
  }

  @Test func onAClock() async throws {
    let clock = TestClock()
    let inbox = Inbox()
    Task {
      try await clock.sleep(for: .seconds(60))
      await inbox.add(1)
    }
    let wait = try #require(
      await clock.eventually(within: .seconds(3600)) { await inbox.numbers == [1] })
    #expect(wait == .seconds(60))
  }

  @Test(.virtualTime) func newsArriveThreeTimes() async {
    let news = TimedExpectation("news", expectedCount: 3)
    let poller = Poller { _ in news.fulfill() }
    poller.poll(every: .seconds(60), times: 3)
    await news.wait(within: .seconds(3600))
  }

  @Test(.virtualTime) func theSameAsAConfirmation() async {
    await confirmation("news", expectedCount: 3, within: .seconds(3600)) { news in
      Poller { _ in news() }.poll(every: .seconds(60), times: 3)
    }
  }

  func expectNews(
    _ count: Int, in inbox: Inbox, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let time = try VirtualTime.required
    await time.eventually(within: .seconds(3600), sourceLocation: sourceLocation) {
      await inbox.numbers.count == count
    }
  }

  @Test(.virtualTime) func helpers() async throws {
    let inbox = Inbox()
    let poller = Poller { number in Task { await inbox.add(number) } }
    poller.poll(every: .seconds(60), times: 3)
    try await expectNews(3, in: inbox)
  }

  @Test(.virtualTime) func fromOutside() async throws {
    let time = try VirtualTime.required
    let answer = TimedExpectation("the server answers")
    Task {
      await time.holding {
        await withCheckedContinuation { continuation in
          askTheServer { _ in
            answer.fulfill()
            continuation.resume()
          }
        }
      }
    }
    #expect(await answer.wait(within: .seconds(60)) == .zero)
  }

  @Test(.virtualTime) func notifications() async {
    let center = NotificationCenter()
    let posted = TimedExpectation("news are posted")
    let observer = center.addObserver(forName: .init("news"), object: nil, queue: nil) { _ in
      posted.fulfill()
    }
    defer { center.removeObserver(observer) }

    let poller = Poller { _ in center.post(name: .init("news"), object: nil) }
    poller.poll(every: .seconds(60), times: 1)
    await posted.wait(within: .seconds(3600))
  }
}

final class PollerTests: XCTestCase {
  func testNewsArriveThreeTimes() async throws {
    try await withVirtualTime {
      let news = TimedExpectation("news", expectedCount: 3)
      let poller = Poller { _ in news.fulfill() }
      poller.poll(every: .seconds(60), times: 3)
      await news.wait(within: .seconds(3600))
    }
  }
}
