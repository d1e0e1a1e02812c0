/// A fenced code block of a Markdown page.
struct CodeBlock: Hashable, Sendable {
  /// The path of the page within the package.
  let page: String
  /// The line on which the block begins.
  let line: Int
  /// The first word after the opening fence.
  let language: String
  /// The lines between the fences, without the indentation of the fences.
  let lines: [String]

  /// Returns the blocks of a page. A block without a closing fence ends at the end of the page.
  static func blocks(of text: String, page: String) -> [CodeBlock] {
    var blocks: [CodeBlock] = []
    var open: (line: Int, fence: Substring, indent: Int, language: String)?
    var lines: [String] = []
    func close() {
      guard let begun = open else { return }
      blocks.append(
        CodeBlock(page: page, line: begun.line, language: begun.language, lines: lines))
      open = nil
      lines = []
    }
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let unindented = line.drop { $0 == " " }
      if let begun = open {
        if unindented.hasPrefix(begun.fence), unindented.allSatisfy({ $0 == "`" || $0 == " " }) {
          close()
        } else {
          let indent = line.prefix(begun.indent).prefix { $0 == " " }.count
          lines.append(String(line.dropFirst(indent)))
        }
      } else if unindented.hasPrefix("```") {
        let fence = unindented.prefix { $0 == "`" }
        let language = unindented.dropFirst(fence.count).split(separator: " ").first ?? ""
        open = (index + 1, fence, line.count - unindented.count, String(language))
      }
    }
    close()
    return blocks
  }

  /// Returns whether `source` contains the lines of the block, all indented by the same amount.
  func occurs(in source: [String]) -> Bool {
    guard let first = lines.first(where: { !$0.isEmpty }) else { return false }
    let block = lines.drop { $0.isEmpty }
    return source.indices.contains { start in
      guard source[start].hasSuffix(first), start + block.count <= source.count else {
        return false
      }
      let indent = source[start].dropLast(first.count)
      guard indent.allSatisfy({ $0 == " " }) else { return false }
      return zip(block, source[start...]).allSatisfy { line, sourceLine in
        sourceLine == (line.isEmpty ? "" : indent + line)
      }
    }
  }
}
