#if os(Linux) && canImport(Glibc) && arch(x86_64)
  import Testing

  @testable import Clocks

  /// Stacks that are made up. `BlockedThreadTests` has those of threads.
  @Suite struct ThreadStackTests {
    /// An address behind a call instruction, aligned like a frame.
    private func alignedReturnAddress(in images: CodeImages) throws -> UInt {
      let function: @convention(c) () -> Void = {}
      let code = try #require(images.image(of: unsafeBitCast(function, to: UInt.self)))
      let addresses = stride(
        from: (code.range.lowerBound + 31) / 16 * 16, to: code.range.upperBound, by: 16)
      return try #require(
        addresses.first { UnsafePointer<UInt8>(bitPattern: $0 - 5)?.pointee == 0xE8 })
    }

    /// The second word looks like a frame whose caller's frame begins at the next word.
    @Test func framesDoNotOverlap() throws {
      let images = CodeImages()
      let address = try alignedReturnAddress(in: images)
      let words = [0, 0x1010, address, address, 0, 0, 0, 0]
      #expect(ThreadStack.functions(words, at: 0x1000, images) == [address - 1])
    }

    /// The code that runs may use the stack pointer for something else.
    @Test func aStackPointerNeedNotBeAligned() throws {
      let images = CodeImages()
      let address = try alignedReturnAddress(in: images)
      // From 0x1004 on, 0x1010 is within the second word. That word begins another chain.
      let words = [0x1010, address, address, 0]
      #expect(ThreadStack.functions(words, at: 0x1004, images) == [address - 1])
    }
  }
#endif
