#if os(Linux) && canImport(Glibc)
  import ClocksSupport
  import Foundation
  import Glibc
  import Synchronization
  import TestTraits
  import Testing

  @testable import Clocks

  /// What the kernel shows of a process in `/proc`, and what happens if it does not show that.
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

    private static var delayOfMainThread: UInt64 {
      let words = ProcFileSystem.words(of: getpid(), in: .schedstat)
      return words.count > 1 ? UInt64(words[1]) ?? 0 : 0
    }

    @Test func theDelayOfAProcessIsThatOfItsMainThread() {
      let before = Self.delayOfMainThread
      let delay = ProcFileSystem.delay(of: getpid())
      #expect(before <= delay && delay <= Self.delayOfMainThread)
    }

    @Test func aLongListOfChildrenIsReadToItsEnd() async {
      await #expect(processExitsWith: .success) {
        let children = (10_000..<11_000).map(String.init)
        try await withTemporaryPath { folder in
          try TextFile.makeFolder("\(folder)/task/7")
          try TextFile.write(
            children.joined(separator: " ") + " \n", to: "\(folder)/task/7/children")
          ProcFileSystem.folder = folder
          #expect(ProcFileSystem.words(of: 7, in: .children) == children)
          #expect(ProcFileSystem.words(of: 8, in: .children) == [])
        }
      }
    }

    @Test func anUnknownProcessHasNoDelay() {
      #expect(ProcFileSystem.delay(of: -1) == 0)
    }

    /// A thread that reads a file may continue by itself. If its block was abandoned, only its turns matter.
    @Test(.enabled(if: areThreadsShown && !hasSanitizer))
    func aThreadThatWasAbandonedMayWaitForAFile() async {
      await #expect(processExitsWith: .success) {
        let pipe = Pipe()
        let number = Atomic<Int32>(0)
        Thread.detachNewThread {
          number.store(OutsideWork.currentThread, ordering: .releasing)
          _ = pipe.fileHandleForReading.availableData
        }
        func turns(abandoned: Set<Int32>) -> OutsideWork.Turns? {
          OutsideWork.turnsIfAllWait(holders: [], paused: [], abandoned: abandoned)
        }
        // Other threads of the process may still run.
        #expect(
          await becomesTrue {
            let thread = number.load(ordering: .acquiring)
            return turns(abandoned: [thread])?.ofAll[thread] != nil
          })
        for _ in 0..<10 { #expect(turns(abandoned: []) == nil) }
        pipe.fileHandleForWriting.closeFile()
      }
    }

    @Test func workOutsideTheTestIsAssumedIfItCannotBeSeen() async {
      await #expect(processExitsWith: .success) {
        let own = OutsideWork.currentThread
        ProcFileSystem.folder = "/nowhere"
        #expect(OutsideWork.isAnyBusy)
        #expect(MachineLoad.mayOutsideAct)
        #expect(ProcFileSystem.areSocketsNew)
        #expect(OutsideWork.turnsIfAllWait(holders: [], paused: [own], abandoned: []) == nil)
      }
    }
  }
#endif
