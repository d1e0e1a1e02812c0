#if os(Linux) && canImport(Glibc)
  import Foundation
  import Synchronization
  import Testing

  @testable import Clocks

  @Suite struct ThreadWaitsTests {
    private let owner = CountingOwner(isVirtual: true)

    /// A job that holds its thread counts once: as a job, as a block, or, while it waits, not at all.
    @Test func aParallelJobIsABlockUntilItWaitsOrEnds() {
      owner.jobBegins()
      let waits = ThreadWaits(owner, .method)
      for isFirst in [true, false] {
        #expect(waits.becomeParallel() == isFirst)
        #expect(owner.open == [1] && owner.runningJobs == 0)
      }
      waits.paused { #expect(owner.open.isEmpty && owner.runningJobs == 0) }
      #expect(owner.open.isEmpty && owner.runningJobs == 1)
      #expect(waits.becomeParallel())
      #expect(owner.open == [2] && owner.runningJobs == 0)
      waits.jobEnds()
      #expect(owner.open.isEmpty && owner.runningJobs == 1)
      #expect(!waits.becomeParallel())
      #expect(owner.open.isEmpty && owner.runningJobs == 1)
    }

    /// While a block sleeps, it counts as a job, which may be taken for one that does not suspend.
    @Test func aBlockThatBecomesAJobIsABlockAgain() {
      let waits = ThreadWaits(owner, .block)
      waits.block = owner.workBegan(on: .thread)
      waits.blockBecomesJob()
      #expect(owner.open.isEmpty && owner.runningJobs == 1)
      #expect(waits.becomeParallel())
      #expect(owner.open == [2] && owner.runningJobs == 0)
      waits.jobBecomesBlock()
      #expect(owner.open == [3] && owner.runningJobs == 0)
      #expect(!waits.becomeParallel())
    }

    /// Another thread takes the job for one that does not suspend, before the block has ended.
    @Test func aBlockEndsOnceWhenItBecomesAJob() {
      let waits = ThreadWaits(owner, .block)
      waits.block = owner.workBegan(on: .thread)
      owner.stopChanges = { _ = waits.becomeParallel() }
      waits.blockBecomesJob()
      #expect(owner.open.isEmpty && owner.runningJobs == 1)
    }

    @Test func aThreadThatWaitsInCallsOfSyncStopsTheirQueues() {
      owner.jobBegins()
      let queues = ["outer", "inner"].map { BlockQueue(label: $0) }
      var context = ThreadContext(owner: owner)
      var outer = SyncQueue(queue: queues[0], stop: .ofAll, outer: nil)
      withUnsafePointer(to: &outer) { outer in
        var inner = SyncQueue(queue: queues[1], stop: .ofBarriers, outer: outer)
        withUnsafePointer(to: &inner) { inner in
          context.sync = inner
          context.run { _ in
            ThreadWaits(owner, .method).paused {
              #expect(queues.map { owner.stops(of: $0) } == [1, 1])
            }
          }
        }
      }
      #expect(queues.map { owner.stops(of: $0) } == [0, 0])
    }

    /// A thread of each test runs a run loop. The one that began last keeps time from jumping only if nothing but the
    /// timeouts of its own test is pending.
    ///
    /// In a process of its own, because outside work counts for all tests of a process.
    @Test(arguments: [true, false]) func timeoutsOfAnotherTestDoNotCount(isAnother: Bool) async {
      await #expect(processExitsWith: .success) { [isAnother] in
        let owner = CountingOwner(isVirtual: true)
        let later = isAnother ? CountingOwner(isVirtual: true) : owner
        // Otherwise a run loop has nothing to wait for.
        OutsideWork.continues()
        for owner in [owner, later] { owner.jobBegins() }
        let outer = ThreadWaits(owner, .thread)
        _ = outer.runInnerLoop(60) { _ in
          #expect(owner.holds.load(ordering: .relaxed) == 1)
          if isAnother { later.sleeps.add(1, ordering: .relaxed) }
          _ = ThreadWaits(later, .thread).runInnerLoop(60) { _ in MainRunLoop.stopped }
          return MainRunLoop.stopped
        }
        #expect(later.holds.load(ordering: .relaxed) == (isAnother ? 0 : 2))
        for owner in [owner, later] { #expect(ThreadWaits.timeouts(of: owner) == 0) }
      }
    }

    /// Virtual time has not moved when the real time of a run is over.
    ///
    /// A short run for one source ends then, if it may be for real work. The test runs in a process of its own, because
    /// outside work counts for all tests of a process.
    @Test(arguments: [true, false], [(false, 0.05), (true, 0.05), (true, 60)])
    func aRunOfARunLoopLastsUntilASourceWasHandled(
      isForRealWork: Bool, run: (isForOneSource: Bool, seconds: Double)
    ) async {
      await #expect(processExitsWith: .success) {
        [
          isForRealWork, isForOneSource = run.isForOneSource as Bool,
          seconds = run.seconds as Double
        ] in
        let owner = CountingOwner(isVirtual: true)
        if isForRealWork { OutsideWork.continues() }
        owner.jobBegins()
        var runs = 0
        let result = ThreadWaits(owner, .thread).runInnerLoop(
          seconds, endsAfterSource: isForOneSource
        ) { _ in
          runs += 1
          return runs < 40 ? MainRunLoop.timedOut : MainRunLoop.handledSource
        }
        let endsEarly = isForRealWork && isForOneSource && seconds < 1
        #expect(runs == (endsEarly ? 1 : 40))
        #expect(result == (endsEarly ? MainRunLoop.timedOut : MainRunLoop.handledSource))
      }
    }

    /// XCTest sets a watchdog only for a wait that it does not interrupt immediately.
    @Test func aWaitWithoutAWatchdogLeavesTheOuterDeadlines() {
      owner.jobBegins()
      let waits = ThreadWaits(owner, .thread)
      waits.beginWait(for: .seconds(60))
      waits.beginWait(for: .seconds(30))
      _ = waits.runInnerLoop(0.1) { _ in
        waits.runManaging {}
        #expect(waits.deadlines.count == 3)
        waits.runManaging {}
        #expect(waits.deadlines.count == 2)
        return MainRunLoop.stopped
      }
      waits.runManaging {}
      #expect(waits.deadlines.count == 1 && waits.isInUse)
      waits.runManaging {}
      #expect(waits.deadlines.isEmpty && !waits.isInUse)
    }

    /// A block of the main queue ends a run. Time does not move before the thread continues, but moves after that.
    ///
    /// In a process of its own, because the waits of threads are seen only in some processes.
    @Test func aSourceKeepsTimeFromMovingUntilTheRunEnds() async {
      await #expect(processExitsWith: .success) {
        ThreadWaits.areSeen = true
        let owner = CountingOwner(isVirtual: true)
        owner.jobBegins()
        let waits = ThreadWaits(owner, .method)
        var context = ThreadContext(owner: owner, isInJob: true)
        context.waits = waits
        let main = BlockQueue(label: "com.apple.main-thread")
        func holdsOfASource(isSync: Bool) -> Int {
          if isSync {
            DispatchedBlock.runSync(on: main, isBarrier: false, of: owner) {}
          } else {
            ThreadWaits.sourceBegins()
          }
          return owner.openHolds.load(ordering: .relaxed)
        }
        context.run { _ in
          for isSync in [false, true] {
            for (endsAfterSource, holds) in [(true, 1), (false, 0)] {
              _ = waits.runInnerLoop(60, endsAfterSource: endsAfterSource) { _ in
                #expect(holdsOfASource(isSync: isSync) == holds)
                return MainRunLoop.handledSource
              }
              #expect(owner.openHolds.load(ordering: .relaxed) == 0)
            }
          }
          // Such as a block that is handled together with a timer, before the thread pauses.
          waits.endsAfterSource = true
          #expect(holdsOfASource(isSync: false) == 0)
        }
      }
    }

    /// A test may poll its run loop until time has passed.
    @Test func aRunThatOnlyPollsTakesTimeAfterManyOfThem() {
      owner.jobBegins()
      let waits = ThreadWaits(owner, .method)
      func takesTime(_ seconds: Double) -> Bool {
        var takesTime = false
        _ = waits.runInnerLoop(seconds) { seconds in
          takesTime = seconds > 0
          return MainRunLoop.handledSource
        }
        return takesTime
      }
      for _ in 1...2 {
        #expect(!(1...ThreadWaits.mostRunLoopPolls).contains { _ in takesTime(0) })
        let polls = (1...2 * ThreadWaits.runLoopPollsPerWait).map { takesTime($0 == 1 ? -1 : 0) }
        #expect(polls.count { $0 } == 2)
        #expect(takesTime(60))
      }
    }

    /// A timer is due while no thread of its test is in a run loop.
    @Test func aTestTakesOnlyItsOwnTimers() {
      let other = CountingOwner(isVirtual: true)
      let due = Atomic<UInt64>(0)
      RunLoopTimers.noteDue(-1, on: 0, of: owner, isOverdue: true)
      #expect(!RunLoopTimers.isAnyDue(due, of: other) && RunLoopTimers.isAnyDue(due, of: owner))
      #expect([other, owner].map { RunLoopTimers.fired(of: $0) } == [0, 1])
      #expect(
        [other, owner, owner].map { RunLoopTimers.takeOverdue(of: $0) } == [false, true, false])
      RunLoopTimers.noteDue(-1, on: 0, of: owner, isOverdue: true)
      RunLoopTimers.testIsOver(of: owner)
      #expect(!RunLoopTimers.takeOverdue(of: owner))
    }

    /// A run loop handles other events first, or the kernel's timer expires late.
    @Test func aTimerThatIsDueFiresBeforeTheThreadPausesAgain() throws {
      // A pipe is ready while there is something to read, as a timer is when it has expired.
      let pipe = Pipe()
      let timer = pipe.fileHandleForReading.fileDescriptor
      func runs(until last: Int) -> Int {
        var runs = 0
        RunLoopTimers.fire(for: owner) { _ in
          runs += 1
          // Foundation sets a timer again when it has let it fire.
          if runs == last { RunLoopTimers.forget(timer) }
          return 0
        }
        return runs
      }
      RunLoopTimers.noteDue(
        pipe.fileHandleForWriting.fileDescriptor, on: 0, of: owner, isOverdue: false)
      #expect(runs(until: 3) == 1)
      RunLoopTimers.noteDue(timer, on: OutsideWork.currentThread, of: owner, isOverdue: false)
      #expect(runs(until: 3) == 2)
      try pipe.fileHandleForWriting.write(contentsOf: [0])
      RunLoopTimers.noteDue(timer, on: OutsideWork.currentThread, of: owner, isOverdue: false)
      #expect(runs(until: 3) == 3)
    }

    /// A timer of a test is due after its end, and a later test's owner gets the address of the first one.
    ///
    /// AddressSanitizer keeps addresses from being used again.
    @Test(.disabled(if: isUnderAddressSanitizer)) func aTestTakesNoTimerOfAFreedOne() {
      for _ in 0..<1_000 {
        let address = {
          let over = CountingOwner(isVirtual: true)
          RunLoopTimers.testIsOver(of: over)
          RunLoopTimers.noteDue(-1, on: 0, of: over, isOverdue: true)
          return ObjectIdentifier(over)
        }()
        // Other memory may take the place of the freed owner first.
        let later = (1...64).map { _ in CountingOwner(isVirtual: true) }
        let taken = later.filter { RunLoopTimers.takeOverdue(of: $0) }
        #expect(taken.isEmpty && later.allSatisfy { RunLoopTimers.fired(of: $0) == 0 })
        if later.contains(where: { ObjectIdentifier($0) == address }) { return }
      }
      Issue.record("no owner has got the address of an earlier one")
    }
  }
#endif
