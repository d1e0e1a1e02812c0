#if os(Linux) && canImport(Glibc)
  import ClocksSupport
  internal import CDispatch

  /// A block of C that was submitted to Dispatch.
  ///
  /// The block of a `DispatchWorkItem` also holds what Dispatch knows of the item
  /// (`struct dispatch_block_private_data_s` of libdispatch). `isReadable` probes that layout.
  struct HandedBlock {
    typealias Block = @convention(block) () -> Void
    private typealias Invoke = @convention(c) (UnsafeRawPointer) -> Void

    /// The address of the block, which identifies a work item.
    let pointer: UnsafeRawPointer

    /// - Parameter block: Must not be freed while the value is in use.
    init(_ block: UnsafeRawPointer) { pointer = block }

    /// Passes a closure to `use` as a block, which is valid until `use` returns.
    static func withBlock<Result>(
      _ closure: @escaping Block, _ use: (UnsafeRawPointer) -> Result
    ) -> Result {
      withExtendedLifetime(closure) { use(unsafeBitCast(closure, to: UnsafeRawPointer.self)) }
    }

    /// Passes a closure to `use` as a work item that runs alone on its queue, and that is valid until `use` returns.
    static func withBarrier<Result>(
      _ closure: @escaping Block, _ use: (UnsafeRawPointer) -> Result
    ) -> Result {
      withBlock(closure) { block in
        let item = create(barrier, block)
        defer { release(item) }
        return use(item)
      }
    }

    /// The block as a closure, which keeps it in memory.
    ///
    /// Do not store the result in an optional: the runtime of Swift 6.3 has no metadata of optional blocks.
    var retained: Block {
      let copied = Self.copy(pointer)
      defer { Self.release(copied) }
      return unsafeBitCast(copied, to: Block.self)
    }

    func callAsFunction() { unsafeBitCast(code, to: Invoke.self)(pointer) }

    private var code: UnsafeRawPointer {
      pointer.load(fromByteOffset: 16, as: UnsafeRawPointer.self)
    }

    /// Whether the block is a `DispatchWorkItem`, or one that C code made with `dispatch_block_create`.
    var isItem: Bool {
      // The code is compared first, because the memory of other blocks may end before the mark's offset.
      code == Self.itemCode && pointer.load(fromByteOffset: 32, as: UInt.self) == Self.itemMark
    }

    /// Whether the block is a work item that runs alone on its queue.
    var isBarrier: Bool {
      isItem && pointer.load(fromByteOffset: 40, as: UInt.self) & Self.barrier != 0
    }

    /// How often the block has run if it is a work item. A run of a cancelled item counts, too.
    var runs: UInt32 { isItem ? pointer.load(fromByteOffset: 52, as: UInt32.self) : 0 }

    private static let itemMark: UInt = 0xD159_B10C
    /// `DISPATCH_BLOCK_BARRIER`
    private static let barrier: UInt = 1

    /// The code that the blocks of all work items share.
    nonisolated(unsafe) private static let itemCode: UnsafeRawPointer? =
      RuntimeSymbol.address(of: "_dispatch_block_special_invoke")?.load(as: UnsafeRawPointer.self)

    /// The libraries whose blocks are distinguished from the blocks of tests.
    enum Library: Sendable {
      /// XCTest or Swift Testing, which measure a test's real time.
      case ofTests
      /// `URLSession`. Its blocks call protocols and delegates of a test, and its own timers take real time.
      case networking
    }

    /// The library that has the block's code; `nil` for all others.
    var library: Library? {
      let block = isItem ? pointer.load(fromByteOffset: 72, as: UnsafeRawPointer.self) : pointer
      let code = UInt(bitPattern: HandedBlock(block).code)
      // Nearly all blocks are of the program, which is elsewhere.
      guard Self.codeOfLibraries.contains(code) else { return nil }
      return Self.libraries.first { $0.code.contains(code) }?.library
    }

    private static let libraries: [(code: Range<UInt>, library: Library)] = {
      let names: [(StaticString, Library)] = [
        ("libFoundationNetworking.so", .networking), ("libXCTest.so", .ofTests),
        ("libTesting.so", .ofTests),
      ]
      return names.flatMap { name, library in
        LoadedImage.all(named: name).flatMap(\.code).map { ($0, library) }
      }
    }()

    /// The smallest range with the code of all of these libraries.
    private static let codeOfLibraries: Range<UInt> = {
      let starts = libraries.map(\.code.lowerBound)
      let ends = libraries.map(\.code.upperBound)
      return (starts.min() ?? 0)..<(ends.max() ?? 0)
    }()

    private typealias Copy = @convention(c) (UnsafeRawPointer) -> UnsafeRawPointer
    private typealias Release = @convention(c) (UnsafeRawPointer) -> Void
    private typealias CreateItem = @convention(c) (UInt, UnsafeRawPointer) -> UnsafeRawPointer

    // These functions are used only after `isReadable` has found all of them.
    private static let copy = RuntimeSymbol.function("_Block_copy", as: Copy.self)!
    private static let release = RuntimeSymbol.function("_Block_release", as: Release.self)!
    private static let create = RuntimeSymbol.function(
      "dispatch_block_create", as: CreateItem.self)!

    /// Whether blocks and work items have the known layout.
    static let isReadable: Bool = {
      let names = [
        "_Block_copy", "_Block_release", "dispatch_block_create", "dispatch_retain",
        "dispatch_release",
      ]
      guard names.allSatisfy({ RuntimeSymbol.address(of: $0) != nil }), itemCode != nil else {
        return false
      }
      nonisolated(unsafe) var runs = 0
      return withBlock({ runs += 1 }) { block in
        let inner = HandedBlock(block)
        let item = HandedBlock(create(barrier, block))
        defer { release(item.pointer) }
        guard item.isItem, item.isBarrier, item.runs == 0, !inner.isItem else { return false }
        // The word is only compared, because at a wrong offset it may be no pointer. It is equal, because retaining a
        // block on the heap does not copy the block.
        guard item.pointer.load(fromByteOffset: 72, as: UnsafeRawPointer.self) == block else {
          return false
        }
        item()
        return runs == 1 && item.runs == 1
      }
    }()
  }
#endif
