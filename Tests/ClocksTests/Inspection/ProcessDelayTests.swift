#if os(Linux)
  import Glibc
  import Testing

  @testable import Clocks

  @Suite struct ProcessDelayTests {
    private static var delayOfMainThread: UInt64 {
      let words = ProcFileSystem.words(of: getpid(), in: .schedstat)
      return words.count > 1 ? UInt64(words[1]) ?? 0 : 0
    }

    @Test func theDelayOfAProcessIsThatOfItsMainThread() {
      let before = Self.delayOfMainThread
      let delay = ProcFileSystem.delay(of: getpid())
      #expect(before <= delay && delay <= Self.delayOfMainThread)
    }

    @Test func anUnknownProcessHasNoDelay() {
      #expect(ProcFileSystem.delay(of: -1) == 0)
    }
  }
#endif
