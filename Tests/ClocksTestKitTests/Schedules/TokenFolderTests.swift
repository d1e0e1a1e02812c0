import Foundation
import Testing

@testable import Clocks

/// A folder that keeps tokens from run to run.
@Suite struct TokenFolderTests {
  @Test func returnsEachTokenOnceTheLatestFirst() async throws {
    try await withTemporaryFolder { path in
      let folder = TokenFolder(path + "/a/b", testID: "Suite/test()")
      #expect(folder.tokens() == [])
      folder.add("1:a.1<b.1:0001")
      folder.add("1:a.2<b.1:0002")
      folder.add("1:a.1<b.1:0001")
      #expect(folder.tokens().map(\.trace) == [2, 1])
      #expect(TokenFolder(path + "/a/b", testID: "Suite/test()").tokens().map(\.trace) == [2, 1])
    }
  }

  @Test func eachTestHasAFile() async throws {
    try await withTemporaryFolder { path in
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
    try await withTemporaryFolder { path in
      let folder = TokenFolder(path, testID: "test")
      folder.add("1::0001")
      let files = try FileManager.default.contentsOfDirectory(atPath: path)
      let file = try #require(files.first)
      try "<<<<\n1::0001\n\n2::0005\n1:damaged\n1::0003\n".write(
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
