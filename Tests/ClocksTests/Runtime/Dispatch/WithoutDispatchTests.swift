import Dispatch
import Foundation
import TestTraits
import Testing

@testable import Clocks

/// A process in which work on dispatch queues cannot be seen.
@Suite struct WithoutDispatchTests {
  @Test func thisProcessSeesDispatchQueues() {
    #if os(Linux)
      #expect(SchedulerCapability.selfTest.seesDispatch)
      #expect(SchedulerCapability.missing == SchedulerCapability.selfTest.hiddenFiles)
    #else
      #expect(!SchedulerCapability.selfTest.seesDispatch)
      #expect(SchedulerCapability.missing.contains("work on dispatch queues"))
    #endif
  }

  @Test func aProcessThatDoesNotSeeThemSaysSo() async throws {
    let child = try await ChildProcess.runSwiftTesting(
      "WithoutDispatchReports", environment: ["CLOCKS_DISPATCH": "0"])
    #expect(child.exitCode == 0, "\(child.standardOutput)\(child.standardError)")
    #expect(child.standardOutput.contains("without: [\"work on dispatch queues\"]"))
  }

  #if os(Linux)
    @Test func aLibraryThatDoesNotCallAllFunctionsStaysUnchanged() {
      #expect(!DispatchCalls.redirectAll(in: "libc.so.6"))
      #expect(!DispatchCalls.redirectAll(in: "libThatDoesNotExist.so"))
    }
  #endif
}

/// Run by `WithoutDispatchTests`; holds in every process.
@Suite struct WithoutDispatchReports {
  @Test func everythingElseIsSeen() async throws {
    let hidden = SchedulerCapability.selfTest.hiddenFiles
    print("without: \(SchedulerCapability.missing.filter { !hidden.contains($0) })")
    #expect(SchedulerCapability.current == .executors)
    guard !SchedulerCapability.selfTest.seesDispatch else { return }
    try await withVirtualTime { time in
      let real = DispatchTime.now()
      try await Task.sleep(for: .seconds(3600))
      #expect(DispatchTime.now() < real + 3600)
      let queue = DispatchQueue(label: "held")
      let held = HeldQueue(queue)
      queue.async {}
      // The scheduler does not wait for blocks that it does not see.
      await time.settle()
      held.release()
      #expect(time.now.offset == .seconds(3600))
    }
  }
}
