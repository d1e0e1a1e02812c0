import Clocks
import Foundation
import Plugin
import Testing

/// The copy of Clocks in the tests has the hooks, although that in the library was installed first.
@Suite struct TwoCopiesTests {
  @Test func theCopyInTheTestsSeesEverything() async throws {
    #expect(SchedulerCapability.missing.isEmpty)
    let clock = TestClock()
    let task = Task { try await Plugin.twoSeconds(on: clock) }
    await clock.advance(by: .seconds(2))
    #expect(try await task.value == "two seconds")
  }

  @Test func theOtherCopySaysThatItSeesNothing() {
    #expect(
      Plugin.selfTest == """
        capability patience, hook strategy none, not seen: tasks, the main actor, Task.yield, \
        un-injected sleeps, work on dispatch queues, but by another copy of Clocks, in the program
        """)
  }

  @Test func aTestClockOfTheOtherCopyFailsImmediately() async {
    await withKnownIssue {
      _ = await Plugin.second()
    } matching: {
      namesBothCopies($0)
    }
  }

  @Test func aScopeOfTheOtherCopyFailsImmediately() async throws {
    try await withKnownIssue {
      _ = try await Plugin.hour()
    } matching: {
      namesBothCopies($0)
    }
  }

  private func namesBothCopies(_ issue: Issue) -> Bool {
    "\(issue)".contains(
      """
      This process contains two copies of Clocks, one in the program and one in libPlugin.so. The one in the \
      program sees the tasks of tests.
      """)
  }

  /// A library that is loaded while tests run takes nothing from them.
  @Test func aCopyThatIsLoadedLaterLeavesTheHooks() async throws {
    typealias SelfTest = @convention(c) () -> UnsafeMutablePointer<CChar>?
    let folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    let copy = FileManager.default.temporaryDirectory.appending(path: "libLate-\(UUID()).so")
    defer { try? FileManager.default.removeItem(at: copy) }
    try FileManager.default.copyItem(at: folder.appending(path: "libPlugin.so"), to: copy)
    let library = try #require(dlopen(copy.path, RTLD_NOW | RTLD_LOCAL))
    let function = try #require(dlsym(library, "selfTestOfPlugin"))
    let text = try #require(unsafeBitCast(function, to: SelfTest.self)())
    defer { free(text) }
    let selfTest = String(cString: text)
    #expect(selfTest.hasPrefix("capability patience, hook strategy none, not seen: tasks,"))
    #expect(selfTest.hasSuffix(", but by another copy of Clocks, in the program"))
    try await theCopyInTheTestsSeesEverything()
  }
}
