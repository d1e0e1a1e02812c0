#if os(Linux) && canImport(Glibc) && arch(x86_64)
  import Foundation
  import TestTraits
  import Testing

  @testable import Clocks

  @Suite(.disabled(if: hasSanitizer), .enabled(if: areThreadsShown)) struct RunningThreadTests {
    /// The signal handler must not wait for the allocator's lock.
    ///
    /// The interrupted thread holds the lock about half of the time. In a debug build, code that runs for the first
    /// time may allocate memory. Only the first signal of a process would show that, so there are several processes.
    @Test(arguments: 0..<5) func aThreadWithinTheAllocatorIsInterrupted(_ process: Int) async {
      await #expect(processExitsWith: .success) {
        alarm(60)
        let marks = Log<UInt>()
        Thread.detachNewThread {
          var place: UInt = 0
          withUnsafeMutablePointer(to: &place) { marks.add(UInt(bitPattern: $0)) }
          // A block of this size is in no cache of the thread.
          while true { free(malloc(2_000)) }
        }
        while marks.all.isEmpty { usleep(1_000) }
        let mark = marks.all[0]
        let stacks = (0..<20).compactMap { _ in
          RunningThread.stack(upTo: mark, above: mark - 1 << 16)
        }
        #expect(stacks.contains { $0.end < mark && !$0.words.isEmpty })
      }
    }
  }
#endif
