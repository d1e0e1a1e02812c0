import Foundation
import TestTraits
import Testing

@testable import Clocks

/// The recipes of Docs/Schedules.md for many machines: what their shells run, with two shards.
@Suite(.enabled(if: Hops.missing == nil)) struct ScheduleRecipeTests {
  /// Returns the lines of the code block that contains a text.
  private func block(with text: String) throws -> [String] {
    let blocks = try guide("Schedules").components(separatedBy: "```").filter { $0.contains(text) }
    return try #require(blocks.first).split(separator: "\n").dropFirst().map(String.init)
  }

  /// Returns the lines after the one that ends with `key`, as far as they are indented more.
  private func value(of key: String, in lines: [String], after first: Int = 0) throws -> [String] {
    func indentation(_ line: String) -> Int { line.prefix { $0 == " " || $0 == "-" }.count }
    let index = try #require(lines[first...].firstIndex { $0.hasSuffix(key) })
    let depth = lines[index].prefix { $0 == " " }.count
    return lines[(index + 1)...].prefix { indentation($0) > depth }
      .map { $0.trimmingCharacters(in: .whitespaces) }
  }

  /// Runs a script in a folder. There `swift` stands for the built tests and the built command.
  private func run(
    _ script: String, in folder: String, _ environment: [String: String]
  ) async throws -> ChildProcess {
    let swift = """
      #!/bin/sh
      tests='\(ChildProcess.testBundle)'
      case "$1 $2" in
      'test --skip-build' | 'test ')
        exec "$tests" --testing-library swift-testing --filter ExploredChildSamples/passes ;;
      'run clocks-everywhere') shift 2; exec "$(dirname "$tests")/clocks-everywhere" "$@" ;;
      *) echo "What is swift $*?"; exit 64 ;;
      esac
      """
    // The shell writes the file, not this process: a child of another test could inherit the open file.
    let setUp = """
      mkdir -p '\(folder)/bin' && cd '\(folder)'
      [ -x bin/swift ] || { cat >bin/swift && chmod +x bin/swift; } <<'END'
      \(swift)
      END

      """
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/bin:/usr/bin"
    return try await ChildProcess.run(
      "/bin/sh", arguments: ["-c", setUp + script],
      environment: ["CLOCKS_TESTS_EXPLORED_SAMPLES": "1", "PATH": "\(folder)/bin:\(path)"]
        .merging(environment) { $1 }, errors: .inOutput)
  }

  private func expectAPage(_ page: ChildProcess) {
    #expect(page.exitCode == 0, "\(page.standardOutput)")
    let row = "| `ClocksTestKitTests.ExploredChildSamples/passes()` | 2 of 2 |"
    #expect(page.standardOutput.contains(row), "\(page.standardOutput)")
    #expect(page.standardOutput.contains("1 test, 0 failed, 1 complete"))
  }

  @Test func gitHubActions() async throws {
    let recipe = try block(with: "runs-on: ubuntu-latest")
    let shards = try #require(recipe.first { $0.contains("shard: [") })
      .split(separator: ",").count
    let variables = try value(of: "env:", in: recipe)
    #expect(variables.contains("CLOCKS_SHARD: ${{ matrix.shard }}/\(shards)"))
    let page = try value(of: "run: |", in: recipe).joined(separator: "\n")
    try await withTemporaryPath { folder in
      for shard in 1...2 {
        let pairs = variables.map { line in
          let (name, value) = (line.prefix { $0 != ":" }, line.drop { $0 != ":" }.dropFirst(2))
          let text = value.replacing("${{ matrix.shard }}/\(shards)", with: "\(shard)/2")
          return (String(name), String(text))
        }
        let child = try await run(
          "swift test", in: folder, Dictionary(uniqueKeysWithValues: pairs))
        #expect(child.exitCode == 0, "\(child.standardOutput)")
        // The artifacts are downloaded into a folder each.
        let reports = "\(folder)/reports"
        try FileManager.default.moveItem(atPath: reports, toPath: "\(folder)/reports-\(shard)")
      }
      func merge() async throws -> ChildProcess {
        try await run(page, in: folder, ["GITHUB_STEP_SUMMARY": folder + "/summary.md"])
      }
      let lonely = try await run(
        "mkdir reports && mv reports-1 reports", in: folder, [:])
      #expect(lonely.exitCode == 0, "\(lonely.standardOutput)")
      #expect(try await merge().exitCode == 1)
      let both = try await run("mv reports-2 reports && rm summary.md", in: folder, [:])
      #expect(both.exitCode == 0, "\(both.standardOutput)")
      var merged = try await merge()
      merged.standardOutput = try String(contentsOfFile: folder + "/summary.md", encoding: .utf8)
      expectAPage(merged)
    }
  }

  @Test func anIndexedJobOfKubernetes() async throws {
    let recipe = try block(with: "completionMode: Indexed")
    let completions = try #require(recipe.first { $0.contains("completions: ") })
      .filter(\.isNumber)
    // A folded text: its lines are joined by spaces.
    let command = String(
      try value(of: "args:", in: recipe).joined(separator: " ").dropFirst(2))
    #expect(command.contains("JOB_COMPLETION_INDEX + 1))/\(completions) "))
    try await withTemporaryPath { folder in
      let script = command.replacing("/\(completions) ", with: "/2 ")
        .replacing("/reports", with: folder + "/reports")
      for index in 0..<2 {
        let child = try await run(script, in: folder, ["JOB_COMPLETION_INDEX": "\(index)"])
        #expect(child.exitCode == 0, "\(child.standardOutput)")
      }
      expectAPage(try await run("swift run clocks-everywhere merge reports", in: folder, [:]))
    }
  }

  @Test func aJobArrayOfSlurm() async throws {
    let script = try block(with: "#SBATCH --array").joined(separator: "\n")
    try await withTemporaryPath { folder in
      for number in 1...2 {
        let child = try await run(
          script, in: folder,
          [
            "SLURM_ARRAY_TASK_ID": "\(number)", "SLURM_ARRAY_TASK_COUNT": "2",
            "SLURM_SUBMIT_DIR": folder,
          ])
        #expect(child.exitCode == 0, "\(child.standardOutput)")
      }
      expectAPage(try await run("swift run clocks-everywhere merge reports", in: folder, [:]))
    }
  }
}
