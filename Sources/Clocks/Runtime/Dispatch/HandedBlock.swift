#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
  import Glibc
  internal import CDispatch

  /// A block that was handed to Dispatch, kept in memory.
  ///
  /// A block is an object of C's: behind its first two words stands the function that it is. One that a
  /// `DispatchWorkItem` has made also holds what Dispatch knows of the item (`struct
  /// dispatch_block_private_data_s` of libdispatch); that layout is tried before it is believed.
  struct HandedBlock {
    private typealias Invoke = @convention(c) (UnsafeRawPointer) -> Void

    /// The block; for a work item its identity as well.
    let pointer: UnsafeRawPointer

    /// Keeps the block; `release` lets go of it.
    init(keeping block: UnsafeRawPointer) { pointer = UnsafeRawPointer(Self.copy(block)) }

    /// Makes a block of a closure; `release` lets go of it.
    init(_ body: @escaping @convention(block) () -> Void) {
      pointer = UnsafeRawPointer(Self.copyClosure(body))
    }

    /// A block that is in memory for as long as it is used here.
    init(_ block: UnsafeRawPointer) { pointer = block }

    func release() { Self.letGo(pointer) }

    func callAsFunction() { unsafeBitCast(code, to: Invoke.self)(pointer) }

    private var code: UnsafeRawPointer {
      pointer.load(fromByteOffset: 16, as: UnsafeRawPointer.self)
    }

    // MARK: Work items

    /// Whether it is a work item.
    var isItem: Bool {
      // A block that is none may end before the mark.
      code == Self.specialCode && pointer.load(fromByteOffset: 32, as: UInt.self) == Self.magic
    }

    /// Whether it is a work item that wants to be alone on its queue.
    var isBarrier: Bool { isItem && pointer.load(fromByteOffset: 40, as: UInt.self) & 1 != 0 }

    /// Whether it is a work item that has been run already, or was cancelled when it was to run.
    var hasRun: Bool { isItem && pointer.load(fromByteOffset: 52, as: UInt32.self) != 0 }

    private static let magic: UInt = 0xD159_B10C

    /// Whether it is code of a library that does real work for everybody, or keeps real time for a test
    /// that waits.
    var isOfLibrary: Bool {
      let block = isItem ? pointer.load(fromByteOffset: 72, as: UnsafeRawPointer.self) : pointer
      let code = block.load(fromByteOffset: 16, as: UnsafeRawPointer.self)
      var found = Found()
      guard Self.find(code, &found) != 0 else { return false }
      return Self.libraries.contains(found.base)
    }

    // MARK: What is looked up

    private typealias Copy = @convention(c) (UnsafeRawPointer) -> UnsafeMutableRawPointer
    private typealias CopyClosure =
      @convention(c) (@convention(block) () -> Void) -> UnsafeMutableRawPointer
    private typealias Release = @convention(c) (UnsafeRawPointer) -> Void

    private static let copy = unsafeBitCast(dlsym(nil, "_Block_copy"), to: Copy.self)
    private static let copyClosure = unsafeBitCast(
      dlsym(nil, "_Block_copy"), to: CopyClosure.self)
    private static let letGo = unsafeBitCast(dlsym(nil, "_Block_release"), to: Release.self)

    /// The C library's `Dl_info`.
    private struct Found {
      var file: UInt = 0
      var base: UInt = 0
      var symbol: UInt = 0
      var address: UInt = 0
    }

    private typealias Find = @convention(c) (UnsafeRawPointer, UnsafeMutableRawPointer) -> CInt

    private static let find = unsafeBitCast(dlsym(nil, "dladdr"), to: Find.self)

    /// The function that every work item's block has.
    nonisolated(unsafe) private static let specialCode: UnsafeRawPointer? =
      dlsym(nil, "_dispatch_block_special_invoke").map {
        $0.load(as: UnsafeRawPointer.self)
      }

    /// Where the libraries begin whose work is not looked at: requests of Foundation's, and the time
    /// limits of XCTest's waiters.
    private static let libraries: Set<UInt> = Set(
      ["libFoundationNetworking.so", "libXCTest.so", "libTesting.so"].compactMap(
        CallTables.base(of:)))

    /// Whether blocks and work items are what they are thought to be here.
    static let isReadable: Bool = {
      guard dlsym(nil, "_Block_copy") != nil, dlsym(nil, "_Block_release") != nil,
        dlsym(nil, "dladdr") != nil, specialCode != nil
      else { return false }
      guard let create = dlsym(nil, "dispatch_block_create") else { return false }
      nonisolated(unsafe) var runs = 0
      let inner = HandedBlock { runs += 1 }
      defer { inner.release() }
      guard
        let item = unsafeBitCast(create, to: Create.self)(1, inner.pointer).map({ HandedBlock($0) })
      else { return false }
      defer { item.release() }
      guard item.isItem, item.isBarrier, !item.hasRun, !inner.isItem else { return false }
      let kept = item.pointer.load(fromByteOffset: 72, as: UnsafeRawPointer.self)
      guard HandedBlock(kept).code == inner.code else { return false }
      item()
      return runs == 1 && item.hasRun
    }()

    private typealias Create = @convention(c) (UInt, UnsafeRawPointer) -> UnsafeRawPointer?
  }
#endif
