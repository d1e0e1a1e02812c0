import Foundation
import TestTraits
import Testing

/// `clocks-everywhere merge`, and the reports that it reads.
@Suite struct MergeTests {
  private func merge(_ arguments: [String]) async throws -> ChildProcess {
    try await ChildProcess.run(ChildProcess.command, arguments: ["merge"] + arguments)
  }

  /// A report with as many hashes as orders, from 1, and as classes.
  private func report(
    _ test: String, _ shard: Int, of shards: Int, orders: [Int], classes: [Int], new: Int = 0,
    isComplete: Bool = false, failure: String? = nil, date: Int = 1, testCase: String? = nil
  ) -> String {
    func sketch(_ hashes: [Int]) -> String {
      "[" + hashes.map { "\"\(String($0, radix: 16))\"" }.joined(separator: ",") + "]"
    }
    let result = failure == nil ? "passed" : "failed"
    let failed = failure.map {
      ",\"failure\":{\"schedule\":9,\"text\":\"wrong\",\"token\":\"\($0)\"}"
    }
    let named = testCase.map { "\"testCase\":\"\($0)\"," } ?? ""
    return """
      {"version":2,"test":"\(test)","shard":\(shard),"shards":\(shards),"date":\(date),"search":{\
      \(named)"result":"\(result)","schedules":1000,"orders":\(orders.count),"classes":\(classes.count),\
      "newClasses":\(new),"isComplete":\(isComplete),"seconds":1.5,\
      "orderSketch":\(sketch(orders)),"classSketch":\(sketch(classes))\(failed ?? "")}}

      """
  }

  private func write(_ reports: [String], to folder: String) throws {
    for (index, report) in reports.enumerated() {
      // As an action that downloads artifacts leaves them: a folder for each shard.
      let path = "\(folder)/shard-\(index)"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try report.write(toFile: "\(path)/a.jsonl", atomically: true, encoding: .utf8)
    }
  }

  @Test func onePageHasAllShards() async throws {
    try await withTemporaryPath { folder in
      try write(
        [
          report("Shop.Cart/a()", 1, of: 2, orders: [1, 2, 3], classes: [1, 2], isComplete: true),
          report("Shop.Cart/a()", 2, of: 2, orders: [1, 4], classes: [2], isComplete: true),
          report("Shop.Cart/b()", 1, of: 3, orders: [1, 2], classes: [7], new: 1),
          report(
            "Shop.Cart/b()", 3, of: 3, orders: [2, 3], classes: [8], new: 1, failure: "1::0001"),
          report("Shop.Cart/b()", 2, of: 2, orders: [2, 3], classes: [9], date: 0),
          report("Shop.Cart/c()", 2, of: 3, orders: [5], classes: [5]),
        ], to: folder)
      let child = try await merge([folder])
      #expect(child.exitCode == 1)
      #expect(
        child.standardOutput == """
          # Schedules

          3 tests, 1 failed, 1 complete, in 5,000 schedules.

          ## Failures

          ### `Shop.Cart/b()`

          Schedule 9 of shard 3 fails:

          ```text
          wrong
          ```

          Replay: `.schedule("1::0001")`

          ## Tests

          | test | shards | schedules | orders | classes | new in the last tenth | result |
          |---|---|---|---|---|---|---|
          | `Shop.Cart/a()` | 2 of 2 | 2,000 | 4 | 2 | 0 | complete: all orders |
          | `Shop.Cart/b()` | 2 of 3 | 2,000 | 3 | 2 | 2 | **failed** |
          | `Shop.Cart/c()` | 1 of 3 | 1,000 | 1 | 1 | 0 | **no report of shard 1, 3** |

          A class is a set of orders that differ only in the order of independent steps. A test is complete if \
          it has passed in all of its orders, if jobs take no time. New classes are those that a shard has seen \
          first in the last tenth of its schedules: none is a sign that more schedules would find little more.

          """)
    }
  }

  @Test func aFolderMayBeALink() async throws {
    try await withTemporaryPath { folder in
      try write([report("T/a()", 1, of: 1, orders: [1], classes: [1])], to: "\(folder)/reports")
      try FileManager.default.createSymbolicLink(
        atPath: "\(folder)/latest", withDestinationPath: "reports")
      let child = try await merge(["\(folder)/latest"])
      #expect(child.exitCode == 0, "\(child.standardError)")
      #expect(child.standardOutput.contains("| `T/a()` | 1 of 1 |"), "\(child.standardOutput)")
    }
  }

  /// The order of a dictionary differs between processes, so the page is made several times.
  @Test(arguments: 1...8) func ofTwoDivisionsOfOneSecondTheLargerIsKept(_ attempt: Int) async throws
  {
    try await withTemporaryPath { folder in
      let reports = (1...8).map {
        report("T/a()", $0, of: 8 + $0, orders: [$0], classes: [1])
      }
      try write(reports, to: folder)
      let child = try await merge([folder])
      #expect(child.exitCode == 1, "\(child.standardError)")
      #expect(child.standardOutput.contains("| `T/a()` | 1 of 16 |"), "\(child.standardOutput)")
    }
  }

  /// As many as `CLOCKS_SHARD` accepts.
  @Test func thereMayBeAMillionShards() async throws {
    try await withTemporaryPath { folder in
      try write([report("T/a()", 7, of: 1_000_000, orders: [1], classes: [1])], to: folder)
      let child = try await merge([folder])
      #expect(child.exitCode == 1, "\(child.standardError)")
      #expect(child.standardError.isEmpty, "\(child.standardError)")
      #expect(child.standardOutput.contains("| `T/a()` | 1 of 1000000 | 1,000 |"))
    }
  }

  @Test func manyOrdersAreEstimated() async throws {
    // Both shards report the same hashes: the smallest 1,024 of 8,000 that are spread evenly.
    let distance = Int.max / 4_000
    let hashes = (1...1_024).map { $0 * distance }
    try await withTemporaryPath { folder in
      try write(
        [
          report("T/a()", 1, of: 2, orders: hashes, classes: [1]),
          report("T/a()", 2, of: 2, orders: hashes, classes: [1]),
        ], to: folder)
      let child = try await merge([folder])
      #expect(child.exitCode == 0, "\(child.standardError)")
      #expect(
        child.standardOutput.contains("| 2 of 2 | 2,000 | about 7,992 | 1 | 0 | passed |"),
        "\(child.standardOutput)")
    }
  }

  @Test func theCasesOfATestAreLinesOfItsReport() async throws {
    try await withTemporaryPath { folder in
      let lines = [[1, 2], [2, 3], [4]].map {
        report("T/a(_:)", 1, of: 1, orders: $0, classes: [1])
      }
      try write([lines.joined()], to: folder)
      let child = try await merge([folder])
      #expect(child.exitCode == 0, "\(child.standardError)")
      // Each case has orders of its own.
      #expect(
        child.standardOutput.contains("| `T/a(_:)` | 1 of 1 | 3,000 | 5 | 3 | 0 | passed |"),
        "\(child.standardOutput)")
    }
  }

  /// The test cases of one process run in parallel, and end in any order.
  @Test func theShardsOfATestCaseAreMergedByItsArguments() async throws {
    try await withTemporaryPath { folder in
      func line(_ shard: Int, _ testCase: String, _ orders: [Int]) -> String {
        report("T/a(_:)", shard, of: 2, orders: orders, classes: [1], testCase: testCase)
      }
      try write(
        [line(1, "1", [1, 2]) + line(1, "2", [3]), line(2, "2", [3]) + line(2, "1", [1, 2])],
        to: folder)
      let child = try await merge([folder])
      #expect(child.exitCode == 0, "\(child.standardError)")
      #expect(
        child.standardOutput.contains("| `T/a(_:)` | 2 of 2 | 4,000 | 3 | 2 | 0 | passed |"),
        "\(child.standardOutput)")
    }
  }

  /// Two test cases fail in one way. The texts are Markdown of their own.
  @Test func aFailureNamesTheArgumentsOfItsTestCase() async throws {
    try await withTemporaryPath { folder in
      let lines = [1, 2].map {
        report(
          "T/`a``b|c`(_:)", 1, of: 1, orders: [$0], classes: [1], failure: "1::0001",
          testCase: "\($0) `x`"
        ).replacing("wrong", with: "```\\nwrong\\n```")
      }
      try write([lines.joined()], to: folder)
      let child = try await merge([folder])
      #expect(child.exitCode == 1, "\(child.standardError)")
      let failures = [1, 2].map {
        """
        ### ``` T/`a``b|c`(_:) ```

        Schedule 9 with the arguments `` \($0) `x` `` fails:

        ````text
        ```
        wrong
        ```
        ````

        Replay: `.schedule("1::0001")`


        """
      }
      #expect(
        child.standardOutput.contains("## Failures\n\n\(failures.joined())## Tests\n"),
        "\(child.standardOutput)")
      #expect(
        child.standardOutput.contains("\n| ``` T/`a``b\\|c`(_:) ``` | 1 of 1 |"),
        "\(child.standardOutput)")
    }
  }

  /// The process of the second shard was killed between two test cases. Earlier versions wrote no arguments.
  @Test(arguments: [true, false])
  func aShardThatLacksATestCaseIsAFailure(_ hasArguments: Bool) async throws {
    try await withTemporaryPath { folder in
      func line(_ shard: Int, _ number: Int) -> String {
        report(
          "T/a(_:)", shard, of: 2, orders: [number], classes: [1], isComplete: true,
          testCase: hasArguments ? "\(number)" : nil)
      }
      try write([line(1, 1) + line(1, 2), line(2, 1)], to: folder)
      let child = try await merge([folder])
      #expect(child.exitCode == 1, "\(child.standardError)")
      let row = "| 2 of 2 | 3,000 | 2 | 2 | 0 | **test cases are missing in shard 2** |"
      #expect(child.standardOutput.contains(row), "\(child.standardOutput)")
    }
  }

  /// The texts of the arguments tell which is missing, unless they may differ between processes.
  @Test(arguments: [
    (cases: [["1", "2"], ["2", "3"]], result: "**test cases are missing in shard 1, 2**"),
    (
      cases: [["1", "2", "2"], ["1", "1", "2"]], result: "**test cases are missing in shard 1, 2**"
    ),
    (cases: [["1", "2"], ["3", "4"]], result: "passed"),
    (cases: [["nil", "0x1"], ["nil", "0x2"]], result: "passed"),
    (cases: [["1", "[2, 3], 4"], ["[3, 2], 4", "1"]], result: "passed"),
    (
      cases: [
        ["1", "a 3F2504E0-4F89-11D3-9A0C-0305E82C3301"],
        ["1", "a 3F2504E0-4F89-11D3-9A0C-0305E82C3302"],
      ], result: "passed"
    ),
    (
      cases: [["1", "[2, 3]"], ["[3, 2]", "1", "[4]"]],
      result: "**test cases are missing in shard 1**"
    ),
  ])
  func shardsThatLackDifferentTestCasesAreAFailure(cases: [[String]], result: String) async throws {
    let child = try await merge(testCasesOfShards: cases)
    #expect(child.exitCode == (result == "passed" ? 0 : 1), "\(child.standardError)")
    #expect(child.standardOutput.contains(" | 0 | \(result) |"), "\(child.standardOutput)")
  }

  private func merge(testCasesOfShards cases: [[String]]) async throws -> ChildProcess {
    try await withTemporaryPath { folder in
      let reports = cases.enumerated().map { index, cases in
        cases.map {
          report("T/a(_:)", index + 1, of: 2, orders: [1], classes: [1], testCase: $0)
        }.joined()
      }
      try write(reports, to: folder)
      return try await merge([folder])
    }
  }

  @Test func thePageNamesTheTestCasesThatAShardLacks() async throws {
    let child = try await merge(testCasesOfShards: [
      ["1", "2"], ["1"] + (3...14).map { "`\($0)`" },
    ])
    #expect(child.exitCode == 1, "\(child.standardError)")
    let named = ["10", "11", "12", "13", "14", "3", "4", "5", "6", "7"]
    #expect(
      child.standardOutput.contains(
        """
        ## Missing test cases

        - `T/a(_:)`, shard 1: \(named.map { "`` `\($0)` ``" }.joined(separator: ", ")), and 2 more
        - `T/a(_:)`, shard 2: `2`

        Test cases are told apart by the texts of their arguments. If such a text differs between processes, \
        as that of a random number does, each shard seems to lack the test case of the other one. Then let the type \
        of the argument conform to `CustomTestStringConvertible`, with a text that does not differ.

        ## Tests

        """), "\(child.standardOutput)")
  }

  /// The process was killed while it wrote the report of the second test case.
  @Test func aReportThatIsCutOffKeepsItsCompleteLines() async throws {
    try await withTemporaryPath { folder in
      let line = report("T/a(_:)", 1, of: 1, orders: [1], classes: [1])
      try write([line + line.dropLast(20)], to: folder)
      let child = try await merge([folder])
      #expect(child.exitCode == 1, "\(child.standardError)")
      #expect(
        child.standardOutput.contains("| 1 of 1 | 1,000 | 1 | 1 | 0 | **report is cut off** |"),
        "\(child.standardOutput)")
    }
  }

  @Test func smallHashesEndNoProcess() async throws {
    try await withTemporaryPath { folder in
      try write([report("T/a()", 1, of: 1, orders: Array(1...1_024), classes: [])], to: folder)
      let child = try await merge([folder])
      #expect(child.exitCode == 0, "\(child.standardError)")
      #expect(
        child.standardOutput.contains("| about 1,000,000,000,000 |"), "\(child.standardOutput)")
    }
  }

  /// The other report is on the page.
  @Test func aDamagedReportBesideACompleteOneIsAFailure() async throws {
    try await withTemporaryPath { folder in
      let right = report("T/a()", 1, of: 1, orders: [1], classes: [1])
      try write([right, "{"], to: folder)
      let child = try await merge([folder])
      #expect(child.exitCode == 1, "\(child.standardError)")
      #expect(child.standardError.contains("shard-1/a.jsonl is not a report of a search"))
      #expect(child.standardOutput.contains("| `T/a()` | 1 of 1 |"), "\(child.standardOutput)")
    }
  }

  @Test(arguments: ["--output FILE FOLDER", "--output=FILE -- FOLDER", "FOLDER --output FILE"])
  func thePageGoesToAFile(_ arguments: String) async throws {
    try await withTemporaryPath { folder in
      try write([report("T/a()", 1, of: 1, orders: [1], classes: [1])], to: folder)
      let page = try await merge([folder]).standardOutput
      let file = "\(folder)/page.md"
      let child = try await merge(
        arguments.split(separator: " ").map(String.init).map {
          $0.replacing("FILE", with: file).replacing("FOLDER", with: folder)
        })
      #expect(child.exitCode == 0 && child.standardOutput.isEmpty, "\(child)")
      #expect(try String(contentsOfFile: file, encoding: .utf8) == page)
      #expect(page.contains("| `T/a()` | 1 of 1 |"))
    }
  }

  @Test func wrongArgumentsHaveAnErrorText() async throws {
    let none = try await merge([])
    #expect(none.exitCode == 64)
    #expect(none.standardError.contains("merge needs a folder"))
    let help = try await merge(["--help"])
    #expect(help.exitCode == 0)
    #expect(help.standardOutput.hasPrefix("usage: clocks-everywhere merge [--output FILE] FOLDER"))
    let unknown = try await merge(["--ouput", "x"])
    #expect(unknown.exitCode == 64)
    #expect(unknown.standardError.contains("--ouput is not an option; see --help\n"))
    for arguments in [["x", "--output"], ["--output=", "x"]] {
      let child = try await merge(arguments)
      #expect(child.exitCode == 64)
      #expect(child.standardError.contains("--output needs a value\n"))
    }
    try await withTemporaryPath { folder in
      let missing = try await merge([folder])
      #expect(missing.exitCode == 66)
      #expect(missing.standardError == "clocks-everywhere: \(folder) is not a folder.\n")
      let right = report("T/a()", 1, of: 1, orders: [], classes: [])
      for (wrong, reason) in [
        ("", "it has no complete line"), ("{", "it has no complete line"),
        (right + "{\n", "The given data was not valid JSON."),
        ("{\"version\":3}\n", "its format has version 3, and this command reads version 2"),
        (report("T/a()", 0, of: 0, orders: [], classes: []), "it is damaged"),
        (report("T/a()", 1, of: .max, orders: [], classes: []), "it is damaged"),
        (report("T/a()", 1, of: 1, orders: [], classes: [], new: .max), "it is damaged"),
      ] {
        try write([wrong], to: folder)
        let child = try await merge([folder])
        #expect(child.exitCode == 66)
        let lines = child.standardError.split(separator: "\n")
        try #require(lines.count == 2, "\(child.standardError)")
        #expect(
          lines[0].hasPrefix(
            "clocks-everywhere: \(folder)/shard-0/a.jsonl is not a report of a search: "))
        #expect(lines[0].contains(reason), "\(child.standardError)")
        #expect(lines[1].hasPrefix("clocks-everywhere: there is no report in \(folder). "))
        #expect(child.standardOutput.isEmpty)
      }
    }
  }
}
