import Foundation
import Testing

/// Checks that the examples of the guides are excerpts of code that is compiled and run.
///
/// Every `swift` block of the README and of Docs must occur literally in a file of Tests or of the
/// demo, where it may be indented. To write an example, write a test, and copy a part of it into the
/// page. Mark code that this package does not run, for example code of other libraries, as `text`.
@Suite struct DocsTests {
  /// The folder of the package.
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Returns the files with an extension in a folder and its subfolders, in order.
  ///
  /// Skips hidden folders, because they contain the build products of other packages.
  private static func files(in folder: String, extension type: String) throws -> [String] {
    let url = root.appendingPathComponent(folder)
    let entries = try FileManager.default.contentsOfDirectory(atPath: url.path)
    return try entries.sorted().flatMap { entry -> [String] in
      guard !entry.hasPrefix(".") else { return [] }
      let path = folder + "/" + entry
      let isFolder = try url.appendingPathComponent(entry)
        .resourceValues(forKeys: [.isDirectoryKey]).isDirectory
      if isFolder == true { return try files(in: path, extension: type) }
      return path.hasSuffix("." + type) ? [path] : []
    }
  }

  static func text(of file: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(file), encoding: .utf8)
  }

  static func blocks() throws -> [CodeBlock] {
    try (["README.md"] + files(in: "Docs", extension: "md")).flatMap { page in
      CodeBlock.blocks(of: try text(of: page), page: page)
    }
  }

  static func sources() throws -> [[String]] {
    let files =
      try files(in: "Tests", extension: "swift")
      + files(in: "Sources/ContextDemo", extension: "swift")
    return try files.map { file in
      try text(of: file).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
  }

  @Test func everyExampleIsCompiledAndRun() throws {
    let sources = try Self.sources()
    let examples = try Self.blocks().filter { $0.language == "swift" }
    #expect(examples.count > 100)
    for block in examples {
      #expect(
        sources.contains { block.occurs(in: $0) },
        "\(block.page):\(block.line): this example occurs in no source that is compiled")
    }
  }

  @Test func everyBlockHasALanguage() throws {
    let blocks = try Self.blocks()
    #expect(Set(blocks.map(\.language)).isSuperset(of: ["swift", "text", "sh"]))
    for block in blocks {
      #expect(
        ["swift", "text", "sh"].contains(block.language),
        "\(block.page):\(block.line): a block must be marked as swift, text or sh")
    }
  }

  @Test func theVersionIsTheSameEverywhere() throws {
    let changes = try Self.text(of: "CHANGELOG.md")
    let latest = try #require(changes.firstMatch(of: #/\n## \[(?<version>\d+\.\d+\.\d+)\]/#))
    let version = latest.version
    #expect(try Self.text(of: "README.md").contains("from: \"\(version)\""))
    #expect(
      try Self.text(of: "Sources/ContextDemo/Shell/Usage.swift")
        .contains("version = \"\(version)\""))
  }

  @Test func everyLinkLeadsToAFileAndAHeading() throws {
    let others = [
      "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "Examples/README.md",
      "Sources/Clocks/README.md", "Tests/RealCode/README.md",
    ]
    var (links, linksToHeadings) = (0, 0)
    for page in try others + Self.files(in: "Docs", extension: "md") {
      let file = Self.root.appendingPathComponent(page)
      let text = try Self.text(of: page)
      for match in text.matches(of: #/\]\((?<target>[^)\s#]*)(?:#(?<anchor>[^)\s]+))?[^)]*\)/#) {
        guard !match.target.contains("://") else { continue }
        links += 1
        let target =
          match.target.isEmpty
          ? file : file.deletingLastPathComponent().appendingPathComponent("\(match.target)")
        let link = "the link \(match.output.0.dropFirst(2).dropLast()) in \(page)"
        #expect(FileManager.default.fileExists(atPath: target.path), "\(link) leads nowhere")
        if let anchor = match.anchor {
          linksToHeadings += 1
          let headings = try Self.anchors(in: String(contentsOf: target, encoding: .utf8))
          #expect(headings.contains(String(anchor)), "\(link) leads to no heading")
        }
      }
    }
    #expect(links > 100)
    #expect(linksToHeadings > 30)
  }

  /// Returns the anchors of a page's headings: in lower case, without punctuation, with `-` for a space.
  private static func anchors(in page: String) -> [String] {
    page.matches(of: #/(?m)^#+ (.*)$/#).map { heading in
      String(
        heading.1.lowercased().replacing(" ", with: "-")
          .filter { $0.isLetter || $0.isNumber || "-_".contains($0) })
    }
  }
}
