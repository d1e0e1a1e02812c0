import Clocks
import ClocksTestKit
import Foundation
import Testing
import XCTest

/// A search that begins when nothing was typed for a while. Nothing is injected.
actor Search {
  private(set) var queries: [String] = []
  private var pending: Task<Void, any Error>?

  func type(_ text: String) {
    pending?.cancel()
    pending = Task {
      try await Task.sleep(for: .milliseconds(300))
      queries.append(text)
    }
  }
}

/// Something that answers on a thread of its own.
func askTheServer(_ answer: @escaping @Sendable (String) -> Void) {
  Thread.detachNewThread { answer("42") }
}

@Suite struct VirtualTimeGuide {
  @Test(.virtualTime) func searchesWhenTypingPauses() async throws {
    let search = Search()
    await search.type("a")
    try await Task.sleep(for: .milliseconds(200))
    await search.type("ab")
    try await Task.sleep(for: .milliseconds(299))
    #expect(await search.queries == [])
    try await Task.sleep(for: .milliseconds(2))
    #expect(await search.queries == ["ab"])
  }

  @Test func theSameAsAFunction() async throws {
    try await withVirtualTime { time in
      let search = Search()
      await search.type("a")
      try await Task.sleep(for: .seconds(1))
      #expect(await search.queries == ["a"])
      #expect(time.now == .init(offset: .seconds(1)))
    }
  }

  @Test(.virtualTime(autoAdvance: false)) func byHand() async throws {
    let time = try VirtualTime.required
    let search = Search()
    await search.type("a")
    await time.advance(by: .milliseconds(299))
    #expect(await search.queries == [])
    await time.advance(by: .milliseconds(1))
    #expect(await search.queries == ["a"])

    await search.type("ab")
    let found = await time.advance(upTo: .seconds(1)) { await search.queries.count == 2 }
    #expect(found)
    #expect(time.now == .init(offset: .milliseconds(600)))
  }

  @Test(.virtualTime) func realWork() async throws {
    let time = try VirtualTime.required
    let search = Search()
    await search.type("a")
    let answer = await time.holding {
      await withCheckedContinuation { continuation in
        askTheServer { continuation.resume(returning: $0) }
      }
    }
    #expect(answer == "42")
    #expect(time.now == .init())
  }
}

class SearchTestCase: XCTestCase {
  /// Runs the body in virtual time, with a search field of its own.
  func withSearch(
    _ body: (Search, VirtualTime) async throws -> Void
  ) async throws {
    try await withVirtualTime { time in try await body(Search(), time) }
  }
}

final class SearchFieldTests: SearchTestCase {
  func testWaitsAWhile() async throws {
    try await withSearch { search, time in
      await search.type("a")
      await time.advance(by: .milliseconds(300))
      let queries = await search.queries
      XCTAssertEqual(queries, ["a"])
    }
  }
}

final class SearchTests: XCTestCase {
  func testSearchesWhenTypingPauses() async throws {
    try await withVirtualTime {
      let search = Search()
      await search.type("a")
      try await Task.sleep(for: .seconds(1))
      let queries = await search.queries
      XCTAssertEqual(queries, ["a"])
    }
  }
}
