import Dispatch
import Foundation
import TestTraits
import Testing

@testable import Clocks

/// The threads that run jobs while the pool is blocked. Each test uses up the threads of a process of its own.
@Suite struct ExtraThreadsTests {
  /// Submits work that waits for `end`, and returns when as much of it as `expected` has begun.
  private static func submit(
    _ count: Int, until end: DispatchSemaphore, _ begun: Tally, expecting expected: Int
  ) async throws {
    for _ in 0..<count {
      ExtraThreads.submit(
        {
          begun.add()
          end.wait()
          end.signal()
        }, .default)
    }
    #expect(await becomesTrue { begun.value >= expected })
    // More than that would begin soon.
    try await Task.sleep(for: .milliseconds(50))
    #expect(begun.value == expected)
  }

  @Test func eachBlockedJobIsReplaced() async {
    await #expect(processExitsWith: .success) {
      let end = DispatchSemaphore(value: 0)
      let begun = Tally()
      try await Self.submit(300, until: end, begun, expecting: 64)
      ExtraThreads.changeBlocked(by: 40)
      try await Self.submit(0, until: end, begun, expecting: 104)
      ExtraThreads.changeBlocked(by: -40)
      end.signal()
      #expect(await becomesTrue { begun.value == 300 })
    }
  }

  /// A thread that is woken for work, and is one too many, ends.
  @Test func noWorkIsLeftByAThreadThatEnds() async {
    await #expect(processExitsWith: .success) {
      let end = DispatchSemaphore(value: 0)
      ExtraThreads.changeBlocked(by: 10)
      try await Self.submit(74, until: end, Tally(), expecting: 74)
      end.signal()
      // Now all threads wait for work.
      try await Task.sleep(for: .milliseconds(100))
      ExtraThreads.changeBlocked(by: -10)
      for _ in 0..<20 {
        let hasRun = Tally()
        ExtraThreads.submit({ hasRun.add() }, .default)
        #expect(await becomesTrue { hasRun.value == 1 })
      }
    }
  }

  @Test func blockedWorkKeepsNothingElseInMemory() async {
    await #expect(processExitsWith: .success) {
      let (mayContinue, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let begun = Tally()
      // The one thread that is left runs the first two pieces of work below, unless a thread is added.
      try await Self.submit(63, until: end, begun, expecting: 63)
      ExtraThreads.submit({ mayContinue.wait() }, .default)
      ExtraThreads.submit({ end.wait() }, .default)
      var object: Tally? = Tally()
      weak let reference = object
      ExtraThreads.submit({ [object] in object?.add() }, .default)
      ExtraThreads.changeBlocked(by: 1)
      object = nil
      mayContinue.signal()
      #expect(await becomesTrue { reference == nil })
    }
  }

  @Test func workBeginsInOrder() async {
    await #expect(processExitsWith: .success) {
      let log = Log<Int>()
      let end = DispatchSemaphore(value: 0)
      try await Self.submit(63, until: end, Tally(), expecting: 63)
      // One thread is left.
      for number in 0..<1_000 { ExtraThreads.submit({ log.add(number) }, .default) }
      #expect(await becomesTrue { log.all.count == 1_000 })
      #expect(log.all == Array(0..<1_000))
      end.signal()
    }
  }

  /// A thread inherits the priority and the blocked signals of the thread that creates it.
  @Test func aThreadIsLikeThoseOfDispatch() async {
    await #expect(processExitsWith: .success) {
      let found = Log<String>()
      Thread.detachNewThread {
        // Always allowed: a thread may lower its priority.
        let process = CInt(PRIO_PROCESS.rawValue)
        setpriority(process, 0, getpriority(process, id_t(getpid())) + 5)
        var blocked = sigset_t()
        sigemptyset(&blocked)
        sigaddset(&blocked, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
        ExtraThreads.submit(
          {
            let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
            found.add(name ?? "")
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            let signals = [SIGPIPE, SIGINT, SIGSEGV].map { sigismember(&mask, $0) }
            found.add("\(signals)")
            let isLower = getpriority(process, 0) > getpriority(process, id_t(getpid()))
            // Only a privileged thread may raise its priority.
            found.add("\(isLower && geteuid() == 0)")
          }, .default)
      }
      #expect(await becomesTrue { found.all.count == 3 })
      #expect(found.all == ["ClocksExtra\n", "[1, 1, 0]", "false"])
    }
  }
}
