#if os(Linux)
  import ClocksSupport
  import Testing

  @testable import Clocks

  /// Task options in handmade lists, most of which the runtime would not make.
  @Suite struct TaskOptionTests {
    private static let executor = ExecutorWords(Hops.executor.asUnownedTaskExecutor())

    /// Returns the kind that is found in a list of options of these kinds, of which the last one names the executor.
    ///
    /// - Parameter end: Where the option after the last one is; by default, there is none.
    private static func kind(_ kinds: UInt..., end: UInt = 0) -> UInt? {
      var words = kinds.flatMap { kind -> [UInt] in [kind, 0, 0, 0] }
      return words.withUnsafeMutableBufferPointer { words in
        let last = words.count - 4
        for option in stride(from: 0, to: last, by: 4) {
          words[option + 1] = UInt(bitPattern: words.baseAddress! + option + 4)
        }
        (words[last + 1], words[last + 2], words[last + 3]) = (end, executor.object, executor.table)
        return TaskOption.kind(in: UnsafeRawPointer(words.baseAddress!), of: [executor])
      }
    }

    @Test func theKindOfAnOptionIsFoundInItsList() {
      #expect(TaskOption.areReadable)
      #expect(Self.kind(7, 6) == 6)
    }

    @Test func aListInAnotherLayoutIsNotRead() async {
      await #expect(processExitsWith: .success) {
        #expect(TaskOption.kind(in: nil, of: [Self.executor]) == nil)
        // One option does not show where the next one is.
        #expect(Self.kind(6) == nil)
        #expect(Self.kind(7, 6, end: 0x10) == nil, "no memory is mapped there")
        #expect(Self.kind(7, 6, end: 0xF000_0000_0000_0008) == nil, "this is no address")
        #expect(Self.kind(7, 6, 7) == nil, "two options have one kind")
        #expect(Self.kind(7, 0x106) == nil, "the option has other flags")
      }
    }

    @Test func anOptionOfAnUnknownKindMayBeShort() async {
      await #expect(processExitsWith: .success) {
        // The option's two words are the last ones before memory that cannot be read.
        let size = Int(getpagesize())
        let pages = mmap(nil, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        let start = try #require(pages)
        mprotect(start + size, size, PROT_NONE)
        let option = start + size - 2 * MemoryLayout<UInt>.size
        option.storeBytes(of: 200, as: UInt.self)
        guard case .runtime = CustomExecutor.first(in: option) else {
          Issue.record("an executor was found")
          return
        }
      }
    }
  }
#endif
