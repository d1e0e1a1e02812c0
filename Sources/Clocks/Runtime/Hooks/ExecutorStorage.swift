import ClocksSupport

extension RuntimeHooks {
  /// Writes our default executor where the runtime keeps its own, and says whether that could be
  /// done.
  ///
  /// The runtime's library has two neighbouring words for it, which nothing names. They are found by
  /// what is in them: the two words which its public getter gives. Where there are several such
  /// places, the right one is that which changes what the getter gives. O(size of the library's
  /// data), some 10 KB.
  static func replaceDefaultExecutor() -> Bool {
    let prior = ExecutorWords(PriorExecutors.pool)
    let ours = ExecutorWords(poolExecutor as any TaskExecutor)
    // The runtime counts neither when the words are written over: both stay for ever.
    _ = Unmanaged.passRetained(PriorExecutors.pool as AnyObject)
    _ = Unmanaged.passRetained(poolExecutor)
    for data in WritableMemory.ofConcurrencyLibrary {
      let wordSize = MemoryLayout<UInt>.size
      for offset in stride(from: 0, through: data.count - 2 * wordSize, by: wordSize) {
        let place = (data.baseAddress! + offset).assumingMemoryBound(to: ExecutorWords.self)
        guard place.pointee == prior else { continue }
        place.pointee = ours
        if globalConcurrentExecutor === poolExecutor { return true }
        place.pointee = prior
      }
    }
    return false
  }

  /// Puts our methods in the places of those of the main actor's executor, and says whether that
  /// could be done.
  ///
  /// For runtimes that have no hook for it. An executor is an object and a table of the methods of
  /// its conformance; a table is public to every client of the protocol, so its order never changes:
  /// the conformance's description, the table of `Executor`, and three methods to enqueue a job.
  static func replaceMainMethods() -> Bool {
    // An executor of somebody's would be handed foreign jobs by the methods that are replaced here.
    guard
      PriorExecutors.areDispatch,
      let theirs = ExecutorWords(MainActor.sharedUnownedExecutor).methods,
      let ours = ExecutorWords(mainReference).methods
    else { return false }
    let methods = 2...4
    let place = UnsafeMutableRawPointer(theirs + methods.lowerBound)
    guard WritableMemory.unlock(place, count: methods.count * MemoryLayout<UInt>.size) else {
      return false
    }
    for method in methods { theirs[method] = ours[method] }
    return true
  }
}

/// Memory that may be written to.
enum WritableMemory {
  /// Makes memory writable that is not, and says whether that could be done.
  static func unlock(_ place: UnsafeMutableRawPointer, count: Int) -> Bool {
    let pageSize = UInt(getpagesize())
    let first = UInt(bitPattern: place) & ~(pageSize - 1)
    let end = (UInt(bitPattern: place) + UInt(count) + pageSize - 1) & ~(pageSize - 1)
    let pages = UnsafeMutableRawPointer(bitPattern: first)
    return mprotect(pages, Int(end - first), PROT_READ | PROT_WRITE) == 0
  }

  private static let library: StaticString = "libswift_Concurrency"

  private static func isLibrary(_ path: UnsafePointer<CChar>) -> Bool {
    strstr(path, UnsafeRawPointer(library.utf8Start).assumingMemoryBound(to: CChar.self)) != nil
  }
}

#if canImport(Darwin)
  extension WritableMemory {
    /// A segment that the linker makes read-only once it has filled it (`SG_READ_ONLY`).
    private static let isReadOnlyLater: UInt32 = 0x10
    private static let segmentCommand: UInt32 = 0x19

    /// The data of the runtime's library (Mach-O).
    static var ofConcurrencyLibrary: [UnsafeMutableRawBufferPointer] {
      var found: [UnsafeMutableRawBufferPointer] = []
      for image in 0..<_dyld_image_count() {
        guard
          let path = _dyld_get_image_name(image), isLibrary(path),
          let header = _dyld_get_image_header(image)
        else { continue }
        let slide = _dyld_get_image_vmaddr_slide(image)
        let header64 = UnsafeRawPointer(header).load(as: mach_header_64.self)
        var command = UnsafeRawPointer(header) + MemoryLayout<mach_header_64>.size
        for _ in 0..<header64.ncmds {
          let next = command + Int(command.load(as: load_command.self).cmdsize)
          defer { command = next }
          guard command.load(as: load_command.self).cmd == segmentCommand else { continue }
          let segment = command.load(as: segment_command_64.self)
          guard
            segment.initprot & VM_PROT_WRITE != 0, segment.flags & isReadOnlyLater == 0,
            let start = UnsafeMutableRawPointer(bitPattern: Int(segment.vmaddr) + slide)
          else { continue }
          found.append(
            UnsafeMutableRawBufferPointer(start: start, count: Int(segment.vmsize)))
        }
      }
      return found
    }
  }
#else
  extension WritableMemory {
    /// The beginning of what the linker says of a loaded library (`struct dl_phdr_info`).
    private struct Image {
      var base: UInt
      var path: UnsafePointer<CChar>?
      var segments: UnsafePointer<Segment>?
      var segmentCount: UInt16
    }

    /// A part of a library (`Elf64_Phdr`).
    private struct Segment {
      var kind: UInt32
      var flags: UInt32
      var offset: UInt
      var address: UInt
      var physicalAddress: UInt
      var sizeInFile: UInt
      var size: UInt
      var alignment: UInt

      var addresses: Range<UInt> { address..<address + size }
      var isData: Bool { kind == 1 && flags & 2 != 0 }
      /// Whether the linker has made it read-only once it had filled it (`PT_GNU_RELRO`).
      var isReadOnlyLater: Bool { kind == 0x6474_e552 }
    }

    @_silgen_name("dl_iterate_phdr")
    private static func forEachImage(
      _ body: @convention(c) (UnsafeRawPointer, Int, UnsafeMutableRawPointer) -> CInt,
      _ argument: UnsafeMutableRawPointer
    ) -> CInt

    /// The data of the runtime's library (ELF).
    static var ofConcurrencyLibrary: [UnsafeMutableRawBufferPointer] {
      var found: [UnsafeMutableRawBufferPointer] = []
      #if _pointerBitWidth(_64)
        withUnsafeMutablePointer(to: &found) { found in
          _ = forEachImage(
            { image, _, found in
              let image = image.load(as: Image.self)
              guard let path = image.path, WritableMemory.isLibrary(path) else { return 0 }
              found.assumingMemoryBound(to: [UnsafeMutableRawBufferPointer].self).pointee +=
                WritableMemory.data(of: image)
              return 0
            }, found)
        }
      #endif
      return found
    }

    private static func data(of image: Image) -> [UnsafeMutableRawBufferPointer] {
      let segments = UnsafeBufferPointer(start: image.segments, count: Int(image.segmentCount))
      let locked = segments.first(where: \.isReadOnlyLater)?.addresses
      return segments.filter(\.isData).compactMap { segment in
        // What is read-only later stands at the beginning of a segment.
        var addresses = segment.addresses
        if let locked, locked.contains(addresses.lowerBound) {
          addresses = min(locked.upperBound, addresses.upperBound)..<addresses.upperBound
        }
        let wordSize = UInt(MemoryLayout<UInt>.size)
        let first = (image.base + addresses.lowerBound + wordSize - 1) & ~(wordSize - 1)
        let end = image.base + addresses.upperBound
        guard first < end, let start = UnsafeMutableRawPointer(bitPattern: first) else {
          return nil
        }
        return UnsafeMutableRawBufferPointer(start: start, count: Int(end - first))
      }
    }
  }
#endif
