#if os(Linux) && canImport(Glibc)
  import Glibc
  import Testing

  @testable import Clocks

  /// In processes of their own, because outside work counts for all tests of a process.
  @Suite struct ThreadStartTests {
    /// - Parameter end: 0 if the thread returns, 1 if it exits, and 2 if it exits within a wait.
    @Test(arguments: 0...2, [false, true])
    func aThreadCountsUntilItReturnsOrExits(end: Int, isOfTest: Bool) async {
      await #expect(processExitsWith: .success) { [end, isOfTest] in
        ThreadWaits.areSleepsSeen = true
        let owner = CountingOwner(isVirtual: true)
        var test: TestThread?
        if isOfTest {
          var context = ThreadContext(
            owner: owner, taskID: UnownedTask.currentID ?? 0, isInJob: true)
          context.run { _ in test = TestThread() }
          #expect(owner.open == [1])
        }
        var thread = pthread_t()
        let function: ThreadStart.Function = { end in
          let end = Int(bitPattern: end)
          if end == 2 { ThreadContext.current?.pointee.waits?.begin() }
          if end > 0 { pthread_exit(nil) }
          return nil
        }
        let argument = UnsafeMutableRawPointer(bitPattern: end)
        let result = ThreadStart.createThread(of: test, function, argument) {
          pthread_create(&thread, nil, $0, $1)
        }
        #expect(result == 0)
        pthread_join(thread, nil)
        #expect(owner.open.isEmpty && owner.runningJobs == 0 && !OutsideWork.isPossible)
        // A thread that has not ended would count as outside work from here on.
        ThreadWaits.testIsOver(of: owner)
        #expect(ThreadWaits.outsideThreads.isEmpty)
      }
    }
  }
#endif
