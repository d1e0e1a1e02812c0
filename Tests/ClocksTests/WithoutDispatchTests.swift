import Dispatch
import Foundation
import Testing

@testable import Clocks

/// Where work on queues cannot be seen, the package says so, and everything else is as it was.
@Suite struct WithoutDispatchTests {
  @Test func thisProcessSeesIt() {
    #if os(Linux) && compiler(>=6.2)
      #expect(SchedulerCapability.selfTest.seesDispatch)
      #expect(SchedulerCapability.missing == [])
    #else
      #expect(!SchedulerCapability.selfTest.seesDispatch)
      #expect(SchedulerCapability.missing.contains("work on dispatch queues"))
    #endif
  }

  @Test func aProcessThatDoesNot() async throws {
    let child = try await ChildProcess.runSwiftTesting(
      "WithoutDispatchReports", environment: ["CLOCKS_DISPATCH": "0"])
    #expect(child.exitCode == 0, "\(child.standardOutput)\(child.standardError)")
    #expect(child.standardOutput.contains("without: [\"work on dispatch queues\"]"))
  }

  #if os(Linux) && compiler(>=6.2)
    /// A library that does not call all of the functions is left as it is.
    @Test func anotherLibrary() {
      #expect(!DispatchCalls.redirectAll(in: "libc.so.6"))
      #expect(!DispatchCalls.redirectAll(in: "libNobodyHasThis.so"))
    }
  #endif
}

/// Run by `WithoutDispatchTests`; holds in every process.
@Suite struct WithoutDispatchReports {
  @Test func everythingElseIsSeen() async throws {
    print("without: \(SchedulerCapability.missing)")
    #expect(SchedulerCapability.current == .executors)
    guard !SchedulerCapability.selfTest.seesDispatch else { return }
    try await withVirtualTime { time in
      let real = DispatchTime.now()
      try await Task.sleep(for: .seconds(3600))
      #expect(DispatchTime.now() < real + 3600)
      let suspended = DispatchQueue(label: "suspended")
      suspended.suspend()
      suspended.async {}
      // Nobody waits for what nobody sees.
      await time.settle()
      suspended.resume()
      #expect(time.now.offset == .seconds(3600))
    }
  }
}
