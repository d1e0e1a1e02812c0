import Foundation
import TestTraits
import Testing

@testable import ContextDemo

/// Tests the storage layer, which is synchronous.
@Suite struct ImageStoreTests {
  let folder = TemporaryFolder()
  let store: ImageStore

  private static let sunrise = ImageDetails(id: "123", title: "Sunrise", width: 640, height: 480)

  init() throws {
    store = try ImageStore(folder: folder.url)
  }

  @Test func savedDetailsCanBeRead() throws {
    #expect(try store.details(of: "123") == nil)
    try store.save(Self.sunrise)
    #expect(try store.details(of: "123") == Self.sunrise)
    #expect(try ImageStore(folder: folder.url).details(of: "123") == Self.sunrise)
  }

  @Test func oneFileForEachImage() throws {
    for id in ["b", "a", "b"] {
      try store.save(ImageDetails(id: id, title: "", width: 0, height: 0))
    }
    #expect(try store.files().map(\.lastPathComponent).sorted() == ["a.json", "b.json"])
  }

  @Test(arguments: ["", "../a", "a/b", ".", "a.json", "ä", String(repeating: "a", count: 101)])
  func invalidIDIsRejected(_ id: String) throws {
    let details = ImageDetails(id: id, title: "", width: 0, height: 0)
    #expect(throws: ImageError.badID(id)) { try store.save(details) }
    #expect(throws: ImageError.badID(id)) { try store.details(of: id) }
    #expect(try store.files() == [])
  }

  @Test func abandonedWriteKeepsTheFile() throws {
    try store.save(Self.sunrise)
    do {
      let file = try AtomicFile(at: store.file(of: "123"))
      try file.write(Data("{".utf8))
      #expect(try store.files().count == 2)
    }
    #expect(try store.files().count == 1)
    #expect(try store.details(of: "123") == Self.sunrise)
  }

  /// Kills a child process in the middle of a write.
  @Test func interruptedWriteKeepsTheFile() async throws {
    let arguments = [
      "images", "--folder", folder.url.path, "--stall", "3600", "--clock", "continuous",
    ]
    let shell = try await withTemporaryPath { output in
      try await ChildProcess.demo(
        arguments,
        script: """
          "$0" "$@" >'\(output)' &
          until grep -qs 'pauses in the middle' '\(output)'; do sleep 0.02; done
          kill -KILL $!
          wait $!
          """)
    }
    #expect(shell.exitCode == 128 + SIGKILL, "\(shell.standardError)")

    // The incomplete draft is still there, and the stored details can be read.
    let drafts = try store.files().filter { $0.pathExtension == AtomicFile.draftExtension }
    try #require(drafts.count == 1)
    #expect(try Data(contentsOf: drafts[0]) == Data("{\"id\":".utf8))
    #expect(try store.details(of: "123") == Self.sunrise)

    let store = try ImageStore(folder: folder.url)
    #expect(try store.files().map(\.lastPathComponent) == ["123.json"])
    #expect(try store.details(of: "123") == Self.sunrise)
  }
}
