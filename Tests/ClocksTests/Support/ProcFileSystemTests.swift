#if os(Linux) && canImport(Glibc)
  import ClocksSupport
  import Testing
  import TestTraits

  @testable import Clocks

  /// What follows if the kernel does not show the process's threads and files.
  @Suite(.enabled(if: areThreadsShown)) struct ProcFileSystemTests {
    @Test func whatIsNotShownIsListed() async {
      await #expect(processExitsWith: .success) {
        let selfTest = SchedulerCapability.selfTest
        #expect(selfTest.missing.isEmpty)
        let strategy = try #require(HookStrategy(rawValue: selfTest.strategy))
        ProcFileSystem.folder = "/nowhere"
        #expect(
          SchedulingSelfTest(strategy).missing == [
            "which threads there are (/proc/self/task)",
            "which threads wait (/proc/self/task/*/syscall)",
            "how long threads run (/proc/self/task/*/schedstat)",
            "child processes (/proc/self/task/*/children)", "open files (/proc/self/fd)",
          ])
      }
    }

    @Test func workOutsideTheTestIsAssumedIfItCannotBeSeen() async {
      await #expect(processExitsWith: .success) {
        let own = OutsideWork.currentThread
        ProcFileSystem.folder = "/nowhere"
        #expect(OutsideWork.isAnyThreadBusy)
        #expect(MachineLoad.mayOutsideAct)
        #expect(ProcFileSystem.areSocketsNew)
        #expect(OutsideWork.turnsIfAllWait(holders: [], paused: [own]) == nil)
      }
    }
  }
#endif
