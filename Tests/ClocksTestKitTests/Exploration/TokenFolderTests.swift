import ClocksSupport
import Foundation
import Testing

@testable import Clocks
@testable import ClocksSearch

extension TokenFolder {
  fileprivate func tokens() -> [ScheduleToken] {
    var tree = TaskTree()
    return tokens(in: &tree)
  }
}

/// A token that can be renewed once too often. Some of the tasks that renew it create tasks.
private actor RenewedToken {
  private var renewal: Task<Int, Never>?
  private var renewals = 0

  private func renew() async -> Int {
    renewals += 1
    await Task.yield()
    return renewals
  }

  private func get() async -> Int {
    if let renewal { return await renewal.value }
    let task = Task { await renew() }
    renewal = task
    let value = await task.value
    if renewal == task { renewal = nil }
    return value
  }

  struct TwoRenewals: Error {}

  static func renewTwice(_ time: VirtualTime) async throws {
    let token = RenewedToken()
    await withTaskGroup { group in
      for _ in 0..<3 { group.addTask { _ = await token.get() } }
    }
    let before = await token.renewals
    async let first = token.get()
    async let second = token.get()
    _ = await (first, second)
    if await token.renewals > before + 1 { throw TwoRenewals() }
  }
}

/// A folder that keeps tokens from run to run.
@Suite struct TokenFolderTests {
  @Test func returnsEachTokenOnceTheLatestFirst() async throws {
    try await withTemporaryPath { path in
      let folder = TokenFolder(path + "/a/b", testID: "Suite/test()")
      #expect(folder.tokens() == [])
      folder.add("1:a.1<b.1:0001")
      folder.add("1:a.2<b.1:0002")
      folder.add("1:a.1<b.1:0001")
      #expect(folder.tokens().map(\.trace) == [2, 1])
      #expect(TokenFolder(path + "/a/b", testID: "Suite/test()").tokens().map(\.trace) == [2, 1])
    }
  }

  /// As git checks out a text on Windows.
  @Test func readsLinesThatEndWithTwoCharacters() async throws {
    try await withTemporaryPath { path in
      let folder = TokenFolder(path, testID: "test")
      folder.add("1::0001")
      let file = "\(path)/\(TokenFolder.fileName(of: "test")).txt"
      let text = "1::0001\r\n1::0002\r\n"
      try TextFile.write(text, to: file)
      folder.add("1::0002")
      #expect(TextFile.read(file) == text)
      #expect(folder.tokens().map(\.trace) == [2, 1])
    }
  }

  @Test func keepsTokensThatAreAddedInParallel() async throws {
    try await withTemporaryPath { path in
      await withTaskGroup { group in
        for number in 0..<100 {
          group.addTask { TokenFolder(path, testID: "test").add("1::\(1_000 + number)") }
        }
      }
      #expect(TokenFolder(path, testID: "test").tokens().count == 100)
    }
  }

  /// Reading a token numbers tasks in another order than a run in which tasks create tasks.
  @Test func aKeptTokenReplaysItsFailure() async throws {
    var options = ScopeOptions()
    options.isExplored = true
    var exploration = Exploration(
      limits: .init(count: 1_000, seed: 1), time: nil, options: options, origin: CallSite(),
      gate: IssueGate())
    guard case .failed(let first) = await exploration(RenewedToken.renewTwice) else {
      Issue.record("The bug is not found.")
      return
    }
    #expect(first.number > 3)
    try await withTemporaryPath { path in
      let folder = TokenFolder(path, testID: "test")
      folder.add(first.token)
      exploration.known = folder.tokens(in: &exploration.tree)
      guard case .failed(let second) = await exploration(RenewedToken.renewTwice) else {
        Issue.record("The bug is not found again.")
        return
      }
      #expect(second.number == 3)
      #expect(second.token == first.token)
    }
  }

  @Test func eachTestHasAFile() async throws {
    try await withTemporaryPath { path in
      // All three have the same file name.
      let ids = ["Suite/test(a:)", "Suite/test(a/)", "Suite/test(a?)"]
      for (number, id) in ids.enumerated() {
        TokenFolder(path, testID: id).add("1::000\(number)")
      }
      for (number, id) in ids.enumerated() {
        #expect(TokenFolder(path, testID: id).tokens().map(\.trace) == [UInt16(number)])
      }
      let files = try FileManager.default.contentsOfDirectory(atPath: path)
      #expect(files.count == 3)
    }
  }

  @Test func skipsMalformedLines() async throws {
    try await withTemporaryPath { path in
      let folder = TokenFolder(path, testID: "test")
      folder.add("1::0001")
      let files = try FileManager.default.contentsOfDirectory(atPath: path)
      let file = try #require(files.first)
      try "<<<<\n1::0001\n\n3::0005\n1:damaged\n1::0003\n".write(
        toFile: "\(path)/\(file)", atomically: true, encoding: .utf8)
      #expect(folder.tokens().map(\.trace) == [3, 1])
    }
  }

  @Test func keepsNothingWithoutAFolder() {
    let folder = TokenFolder(nil, testID: "test")
    folder.add("1::0001")
    #expect(folder.tokens() == [])
  }
}
