import Foundation
import Testing

@testable import ContextDemo

/// `--timeline FILE`, from outside; one process after another, out of consideration.
@Suite(.serialized) struct TimelineOptionTests {
  private let folder = TemporaryFolder()
  private let untraced = ["CLOCKS_TRACE": ""]

  private func temporaryFile(_ name: String) throws -> String {
    try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
    return folder.url.appendingPathComponent(name).path
  }

  @Test(arguments: allScenarios.map { $0.name })
  func everyScenarioLeavesAPicture(_ name: String) async throws {
    let file = try temporaryFile("picture.svg")
    let drawn = try await DemoProcess([name, "--timeline", file], environment: untraced).end()
    #expect(drawn.exitCode == 0)
    #expect(drawn.error == [])
    // What is written is the same as without it.
    let plain = try await DemoProcess([name]).end()
    #expect(drawn.output.dropLast() == plain.output.dropLast())
    let svg = try String(contentsOfFile: file, encoding: .utf8)
    #expect(svg.hasPrefix("<svg ") && svg.hasSuffix("</svg>\n"))
    #expect(svg.contains("<title>ContextDemo \(name)</title>"))
    #expect(svg.contains(">test</text>") && svg.contains(">printer</text>"))
  }

  @Test func theEventsForPerfettoAreJSON() async throws {
    let file = try temporaryFile("events.json")
    let ended = try await DemoProcess(["countdown", "--timeline=\(file)"]).end()
    #expect(ended.exitCode == 0)
    let data = try Data(contentsOf: URL(fileURLWithPath: file))
    let parsed = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    let events = try #require(parsed["traceEvents"] as? [[String: Any]])
    let marks = events.filter { $0["cat"] as? String == "mark" }.map { $0["name"] as? String }
    #expect(marks == ["chat: 3...", "chat: 2...", "chat: 1...", "chat: Hello"])
    let times = events.filter { $0["cat"] as? String == "mark" }.map { $0["ts"] as? Double }
    #expect(times == [0, 1_000_000, 2_000_000, 3_000_000])
  }

  @Test func aScenarioThatFailsLeavesAPictureToo() async throws {
    let file = try temporaryFile("picture.svg")
    let ended = try await DemoProcess(["countdown", "--timeout", "2.5", "--timeline", file]).end()
    #expect(ended.exitCode == 1)
    #expect(try String(contentsOfFile: file, encoding: .utf8).contains("2.5 s of virtual time"))
  }

  @Test func aFileThatCannotBeWrittenIsAnError() async throws {
    let missing = try await DemoProcess(["countdown", "--timeline", "/no/such/folder/x.svg"]).end()
    #expect(missing.exitCode == 74)
    #expect(
      missing.error == [
        "ContextDemo: cannot write /no/such/folder/x.svg: No such file or directory"
      ])
    #if os(Linux)
      let full = try await DemoProcess(["countdown", "--timeline", "/dev/full"]).end()
      #expect(full.exitCode == 74)
      #expect(full.error == ["ContextDemo: cannot write /dev/full: No space left on device"])
    #endif
  }

  @Test(arguments: [
    (["--timeline"], "option '--timeline' needs a value"),
    (["--timeline", ""], "option '--timeline' needs the name of a file"),
    (
      ["--timeline", "x.svg", "--clock", "continuous"],
      "option '--timeline' needs '--clock test': only virtual time is recorded"
    ),
    (
      ["--timeline=x.svg", "--clock", "immediate"],
      "option '--timeline' needs '--clock test': only virtual time is recorded"
    ),
  ])
  func badArgumentsGetAClearLine(_ arguments: [String], _ message: String) async throws {
    let ended = try await DemoProcess(["countdown"] + arguments).end()
    #expect(ended.exitCode == 64)
    #expect(ended.error.first == "ContextDemo: \(message)")
  }

  // Without optimization: with it, some hops between actors are left out.
  #if os(Linux) && DEBUG && compiler(>=6.2)
    @Test(arguments: ["music-search", "timeout-service"])
    func thePicturesInDocsAreUpToDate(_ name: String) async throws {
      let file = try temporaryFile("picture.svg")
      _ = try await DemoProcess([name, "--timeline", file], environment: untraced).end()
      let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      let picture = root.appendingPathComponent("Docs/Pictures/timeline-\(name).svg")
      let isSame =
        try String(contentsOf: picture, encoding: .utf8)
        == String(contentsOfFile: file, encoding: .utf8)
      #expect(isSame, "Scripts/pictures draws it anew")
    }
  #endif
}
