import Testing

@Suite struct CodeBlockTests {
  private let page = """
    Text

    ```swift
    let a = 1

      let b = 2
    ```
      ```sh extra words
      ls
      ```
    ````text
    ```swift
    ````
    """

  @Test func findsTheBlocksOfAPage() {
    #expect(
      CodeBlock.blocks(of: page, page: "p") == [
        CodeBlock(
          page: "p", line: 3, language: "swift", lines: ["let a = 1", "", "  let b = 2"]),
        CodeBlock(page: "p", line: 8, language: "sh", lines: ["ls"]),
        CodeBlock(page: "p", line: 11, language: "text", lines: ["```swift"]),
      ])
  }

  @Test(arguments: [
    (["let a = 1", "", "  let b = 2"], true),
    (["f {", "  let a = 1", "", "    let b = 2", "}"], true),
    (["f {", "  let a = 1", "", "  let b = 2", "}"], false),
    (["let a = 1", "", "  let b = 3"], false),
    (["let a = 1", "  let b = 2"], false),
    (["let a = 1", ""], false),
    (["xlet a = 1", "", "x  let b = 2"], false),
  ])
  func findsABlockInASource(_ source: [String], _ isThere: Bool) {
    let block = CodeBlock.blocks(of: page, page: "p")[0]
    #expect(block.occurs(in: source) == isThere)
  }
}
