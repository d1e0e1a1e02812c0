import Dispatch
import Foundation
import TestTraits
import Testing

@testable import Clocks
@testable import ClocksDrawing

/// The files of XCTest tests in the folder of `CLOCKS_TRACE`, and marks from any thread.
@Suite struct TraceFolderTests {
  @Test func anXCTestWritesItsFiles() async throws {
    try await withTemporaryPath { folder in
      let child = try await ChildProcess.runXCTest(
        "TraceXCTests", environment: ["CLOCKS_TRACE": folder])
      #expect(child.exitCode == 0, "\(child.standardError)")
      let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      let stems = ["TraceXCTests-9", "TraceXCTests-9-2", "TraceXCTests-19"]
      #expect(names == stems.flatMap { ["\($0).json", "\($0).svg"] }.sorted())
      let ticks = try String(contentsOfFile: "\(folder)/TraceXCTests-19.svg", encoding: .utf8)
      #expect(ticks.contains("3 s of virtual time") && ticks.contains(">sleeper</text>"))
    }
  }

  /// Nothing is recorded in tests without a clock and without a scope, which is said once.
  @Test(arguments: [
    ("ClocksTests.UntracedXCTests", 1), ("ClocksTests.TraceXCTests/testAClock", 0),
    ("ClocksTests.NoSuchXCTests", 0),
  ])
  func anXCTestProcessWithoutRecordingsSaysSo(_ tests: String, count: Int) async throws {
    try await withTemporaryPath { folder in
      let child = try await ChildProcess.runTests(
        tests, library: "xctest", environment: ["CLOCKS_TRACE": folder], errors: .apart,
        mayPassNone: tests == "ClocksTests.NoSuchXCTests")
      #expect(child.exitCode == 0, "\(child)")
      let notes = child.standardError.lines(containing: "CLOCKS_TRACE")
      #expect(notes.count == count, "\(child)")
      #expect(
        notes.allSatisfy { $0.hasPrefix("CLOCKS_TRACE: no timeline was written") }, "\(child)")
    }
  }

  @Test func anXCTestProcessWithoutTheVariableSaysNothing() async throws {
    let child = try await ChildProcess.runTests(
      "ClocksTests.UntracedXCTests", library: "xctest", environment: [:], errors: .apart)
    #expect(child.standardError == "", "\(child)")
    #expect(child.exitCode == 0, "\(child)")
    #expect(child.standardOutput.contains("Executed 2 tests, with 0 failures"), "\(child)")
  }

  @Test func marksCanComeFromAnyThread() async throws {
    let clock = TestClock()
    clock.recordTimeline()
    await withCheckedContinuation { continuation in
      let group = DispatchGroup()
      for thread in 0..<8 {
        DispatchQueue.global().async(group: group) {
          for number in 0..<500 { clock.mark("\(thread).\(number)") }
        }
      }
      group.notify(queue: .global()) { continuation.resume() }
    }
    let marks = try #require(clock.recordedTimeline).history().marks
    #expect(Set(marks.map(\.text)).count == 4_000)
    // The marks of one thread are in order.
    for thread in 0..<8 {
      let numbers = marks.map(\.text).filter { $0.hasPrefix("\(thread).") }
      #expect(numbers == (0..<500).map { "\(thread).\($0)" })
    }
  }

  @Test func aLongMarkIsCut() async throws {
    let clock = TestClock()
    clock.recordTimeline()
    clock.mark(String(repeating: "<long> & \"wide\" 🐢 ", count: 1_000))
    let lanes = try #require(clock.recordedTimeline).lanes(width: 60)
    let lines = lanes.split(separator: "\n")
    #expect(lines.map(\.count).max() ?? 0 <= 60)
    #expect(lines.count == 2 && lines[1].hasPrefix("0 s   ● <long> & \"wide\" 🐢 <long>"))
    #expect(lines[1].hasSuffix("…"))
    _ = try ParsedElement.parse(try #require(clock.recordedTimeline).svg)
  }
}
