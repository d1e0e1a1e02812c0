import ClocksSupport
import Foundation
import Testing

/// Numbers and durations as text, and text files.
@Suite struct TextTests {
  @Test(arguments: [
    (0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567"), (-12_345, "-12,345"),
  ])
  func numbersAreGrouped(number: Int, text: String) {
    #expect(number.grouped == text)
  }

  @Test(arguments: [
    (Duration.zero, "0 s"), (.seconds(86_400), "86,400 s"), (.milliseconds(250), "0.25 s"),
    (.nanoseconds(1), "0.000000001 s"), (.milliseconds(-1_500), "-1.5 s"),
    (.milliseconds(-500), "-0.5 s"), (.seconds(Int64.min), "-∞"),
    (Duration(attoseconds: .max), "∞"),
    (.seconds(999_999_999_999_999), "999,999,999,999,999 s"),
  ])
  func durationsAreWrittenInSeconds(duration: Duration, text: String) {
    #expect(duration.inSeconds == text)
  }

  @Test func anInstantThatIsVeryLongAgoHasPassed() {
    for seconds in [-1, -10_000_000_000, Int64.min] {
      #expect(RealTime(in: .seconds(seconds)).hasPassed)
    }
  }

  @Test(arguments: [
    (Duration.zero, "0.0"), (.seconds(3), "3.0"), (.milliseconds(-1_500), "-1.5"),
    (.milliseconds(-500), "-0.5"), (.nanoseconds(1), "0.000000001"),
    (Duration(attoseconds: 1), "0.000000000000000001"),
    (.seconds(100_000) - Duration(attoseconds: 1), "99999.999999999999999999"),
    (.seconds(99_999) + .nanoseconds(999_999_990), "99999.99999999"),
    (.seconds(Int64.max), "9223372036854775807.0"), (.seconds(Int64.min), "-9223372036854775808.0"),
    (Duration(attoseconds: .max), "170141183460469231731.687303715884105727"),
    (Duration(attoseconds: .min), "-170141183460469231731.687303715884105728"),
  ])
  func durationsAreExactInTexts(duration: Duration, text: String) {
    #expect("\(duration)" == text + " seconds")
    func generic<D: DurationProtocol>(_ duration: D) -> String { "\(duration)" }
    #expect(generic(duration) == text + " seconds")
  }

  @Test(arguments: [
    ("Suite.test()", "Suite.test"), ("test(a:b:) \"x/y\", 3", "test-a-b-x-y-3"),
    ("../../etc/passwd", "etc-passwd"), ("", "timeline"), ("///", "timeline"),
    ("🐢 und Käse", "und-Käse"), (".hidden", "hidden"),
    (String(repeating: "long", count: 100), String(repeating: "long", count: 45) + "l"),
    ("a.e" + String(repeating: "\u{301}", count: 300) + "b", "a"),
  ])
  func fileNamesAreSafe(name: String, file: String) {
    #expect(name.fileName == file)
    #expect(name.fileName.utf8.count <= 200)
  }

  @Test func aFileIsReplacedAndAnErrorNamesIt() async throws {
    try await withTemporaryPath { folder in
      try TextFile.makeFolder(folder + "/a/b")
      try TextFile.makeFolder(folder + "/a/b")
      try TextFile.write("one", to: folder + "/a/b/c")
      try TextFile.write("two", to: folder + "/a/b/c")
      #expect(try String(contentsOfFile: folder + "/a/b/c", encoding: .utf8) == "two")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/a/b") == ["c"])
      let missing = #expect(throws: TextFile.WriteError.self) {
        try TextFile.write("x", to: folder + "/no/c")
      }
      #expect(missing?.description == "cannot write \(folder)/no/c: No such file or directory")
      let inTheWay = #expect(throws: TextFile.WriteError.self) {
        try TextFile.makeFolder(folder + "/a/b/c/d")
      }
      #expect(inTheWay?.description == "cannot write \(folder)/a/b/c/d: Not a directory")
      #if os(Linux)
        let full = #expect(throws: TextFile.WriteError.self) {
          try TextFile.write("x", to: "/dev/full")
        }
        #expect(full?.description == "cannot write /dev/full: No space left on device")
      #endif
    }
  }
}
