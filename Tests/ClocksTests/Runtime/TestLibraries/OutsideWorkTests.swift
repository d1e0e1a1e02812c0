#if os(Linux) && canImport(Glibc)
  import Dispatch
  import Glibc
  import Testing

  @testable import Clocks

  @Suite struct OutsideWorkTests {
    @Test(arguments: [true, false])
    func aSourceOfDispatchIsOutsideWorkUntilItIsFreed(isCancelled: Bool) async {
      await #expect(processExitsWith: .success) { [isCancelled] in
        ThreadWaits.areSleepsSeen = true
        #expect(!OutsideWork.isPossible)
        var source: (any DispatchSourceSignal)? = DispatchSource.makeSignalSource(signal: SIGUSR1)
        let queue = DispatchQueue(label: "cancellation")
        source?.setCancelHandler { queue.sync {} }
        source?.activate()
        #expect(OutsideWork.isPossible)
        queue.suspend()
        if isCancelled { source?.cancel() }
        source = nil
        // The handler of the cancellation has not returned.
        if isCancelled { #expect(OutsideWork.isPossible) }
        queue.resume()
        for _ in 1...30_000 where OutsideWork.isPossible {
          try await Task.sleep(for: .milliseconds(1))
        }
        #expect(!OutsideWork.isPossible)
      }
    }
  }
#endif
