import ClocksSupport

/// A program or a library that is loaded into the process; valid while it is loaded.
struct LoadedImage {
  /// The difference between an address in memory and the same address in the file.
  let base: UInt
  /// The path as the dynamic linker knows it, in its memory; `nil` if there is none.
  private let pathInMemory: UnsafePointer<CChar>?

  /// The path as the dynamic linker knows it; empty for the program on Linux.
  var path: String { pathInMemory.map { String(cString: $0) } ?? "" }

  /// The file name, or "the program".
  var place: String { path.split(separator: "/").last.map(String.init) ?? "the program" }

  /// Whether the file name begins with `beginning`. Makes no string: each test process asks some hundred times at load.
  func isNamed(_ beginning: StaticString) -> Bool {
    guard let path = pathInMemory else { return false }
    let name = strrchr(path, CInt(UInt8(ascii: "/"))).map { UnsafePointer($0 + 1) } ?? path
    let wanted = UnsafeRawPointer(beginning.utf8Start).assumingMemoryBound(to: CChar.self)
    return strncmp(name, wanted, beginning.utf8CodeUnitCount) == 0
  }

  static func all(named beginning: StaticString) -> [LoadedImage] {
    all.filter { $0.isNamed(beginning) }
  }

  #if canImport(Darwin)
    private let header: UnsafeRawPointer

    // Not read on this platform.
    static var ofThisModule: LoadedImage? { nil }
    static var testBundle: LoadedImage? { nil }

    /// All images, the program first. O(images).
    static var all: [LoadedImage] {
      (0..<_dyld_image_count()).compactMap { number in
        guard let path = _dyld_get_image_name(number), let header = _dyld_get_image_header(number)
        else { return nil }
        return LoadedImage(
          base: UInt(bitPattern: _dyld_get_image_vmaddr_slide(number)),
          pathInMemory: path, header: UnsafeRawPointer(header))
      }
    }

    /// The image's variables, without segments that the linker makes read-only (`SG_READ_ONLY`).
    var writableData: [UnsafeMutableRawBufferPointer] {
      segments.filter { $0.initprot & VM_PROT_WRITE != 0 && !$0.isReadOnlyLater }.map { segment in
        UnsafeMutableRawBufferPointer(
          start: UnsafeMutableRawPointer(bitPattern: base + UInt(segment.vmaddr)),
          count: Int(segment.vmsize))
      }
    }

    /// The memory that the linker filled and then made read-only.
    var readOnlyData: [Range<UInt>] {
      segments.filter(\.isReadOnlyLater).map {
        base + UInt($0.vmaddr)..<base + UInt($0.vmaddr + $0.vmsize)
      }
    }

    private var segments: [segment_command_64] {
      var segments: [segment_command_64] = []
      var command = header + MemoryLayout<mach_header_64>.size
      for _ in 0..<header.load(as: mach_header_64.self).ncmds {
        let next = command + Int(command.load(as: load_command.self).cmdsize)
        // `LC_SEGMENT_64`
        if command.load(as: load_command.self).cmd == 0x19 {
          segments.append(command.load(as: segment_command_64.self))
        }
        command = next
      }
      return segments
    }
  #else
    private let segments: UnsafeBufferPointer<ELF.Segment>

    /// The image that contains this module's code. Nothing unloads it.
    nonisolated(unsafe) static let ofThisModule = containing(PatchedDefaultExecutor.self)

    /// Returns the image that contains the metadata of a class; `nil` if the metadata was made at run time.
    static func containing(_ type: AnyObject.Type) -> LoadedImage? {
      let address = unsafeBitCast(type, to: UInt.self)
      return all.first { image in
        image.segments(ELF.Segment.load).contains { $0.addresses.contains(address &- image.base) }
      }
    }

    /// The image that contains the tests: the program, or the library that it runs.
    nonisolated(unsafe) static let testBundle: LoadedImage? = {
      let images = all
      guard let library = libraryOfTests(runBy: pathOfProgram) else { return images.first }
      return images.first { $0.place == library } ?? images.first
    }()

    /// The file name of the library whose tests a program runs; `nil` if the program contains its tests.
    static func libraryOfTests(runBy program: String) -> String? {
      let suffix = "\(TestProcess.runnerSuffix)"
      guard program.hasSuffix(suffix) else { return nil }
      return program.dropLast(suffix.count).split(separator: "/").last.map { "\($0).so" }
    }

    /// The path of the program; empty on other systems than Linux.
    fileprivate static let pathOfProgram: String = {
      #if os(Linux)
        return ProcFileSystem.target(of: "/proc/self/exe")
      #else
        return ""
      #endif
    }()

    private let threadData: UnsafePointer<UInt>?

    /// All images, the program first. O(images).
    static var all: [LoadedImage] {
      var images: [LoadedImage] = []
      #if _pointerBitWidth(_64)
        let iterate = RuntimeSymbol.function("dl_iterate_phdr", as: Iterate.self)
        withUnsafeMutablePointer(to: &images) { images in
          _ = iterate?(
            { info, size, images in
              let hasThreadData = size >= MemoryLayout<Info>.size
              let info = info.assumingMemoryBound(to: Info.self)
              let image = LoadedImage(
                base: info.pointee.base, pathInMemory: info.pointee.path,
                segments: UnsafeBufferPointer(
                  start: info.pointee.segments, count: Int(info.pointee.segmentCount)),
                threadData: hasThreadData ? info.pointee.threadData : nil)
              images.assumingMemoryBound(to: [LoadedImage].self).pointee.append(image)
              return 0
            }, images)
        }
      #endif
      return images
    }

    private typealias Iterate =
      @convention(c) (
        @convention(c) (UnsafeRawPointer, Int, UnsafeMutableRawPointer) -> CInt,
        UnsafeMutableRawPointer
      ) -> CInt

    /// `struct dl_phdr_info`
    private struct Info {
      var base: UInt
      var path: UnsafePointer<CChar>?
      var segments: UnsafePointer<ELF.Segment>?
      var segmentCount: UInt16
      var added: UInt64
      var removed: UInt64
      var threadDataNumber: Int
      var threadData: UnsafePointer<UInt>?
    }

    var code: [Range<UInt>] {
      segments(ELF.Segment.load).filter { $0.flags & ELF.Segment.isExecutable != 0 }
        .map { base + $0.address..<base + $0.address + $0.size }
    }

    private func segments(_ kind: UInt32) -> [ELF.Segment] { segments.filter { $0.kind == kind } }

    /// The image's variables. If the linker makes the beginning of a segment read-only (`PT_GNU_RELRO`), that
    /// part is left out.
    var writableData: [UnsafeMutableRawBufferPointer] {
      let locked = segments(ELF.Segment.readOnlyLater).first?.addresses
      return segments(ELF.Segment.load).compactMap { segment in
        guard segment.flags & ELF.Segment.isWritable != 0 else { return nil }
        let end = segment.address + segment.size
        var first = segment.address
        if let locked, locked.contains(first) { first = min(locked.upperBound, end) }
        let wordSize = UInt(MemoryLayout<UInt>.size)
        let address = (base + first + wordSize - 1) & ~(wordSize - 1)
        guard address < base + end, let start = UnsafeMutableRawPointer(bitPattern: address) else {
          return nil
        }
        return UnsafeMutableRawBufferPointer(start: start, count: Int(base + end - address))
      }
    }

    /// The whole pages that the linker filled and then made read-only.
    var readOnlyData: [Range<UInt>] {
      #if !canImport(CRT) && !canImport(WASILibc)
        let pageMask = ~(UInt(getpagesize()) - 1)
        return segments(ELF.Segment.readOnlyLater).compactMap { segment in
          // `_dl_protect_relro` of the GNU C library computes the pages in this way, too.
          let start = (base + segment.address) & pageMask
          let end = (base + segment.address + segment.size) & pageMask
          return start < end ? start..<end : nil
        }
      #else
        return []
      #endif
    }

    /// The image's thread-local variables on the current thread; `nil` if there are none.
    var threadVariables: UnsafeBufferPointer<UInt>? {
      guard let threadData, let segment = segments(ELF.Segment.threadData).first else {
        return nil
      }
      return UnsafeBufferPointer(
        start: threadData, count: Int(segment.size) / MemoryLayout<UInt>.stride)
    }

    /// The value of a tag in the section that the dynamic linker reads; `nil` if there is none. O(entries).
    ///
    /// Loops over pointers, because each test process calls this some hundred times at load, mostly without
    /// optimization.
    func dynamicValue(_ tag: ELF.DynamicEntry.Tag) -> UInt? {
      guard var entry = dynamicSection else { return nil }
      let tag = tag.rawValue
      while entry.pointee.tag != 0 {
        if entry.pointee.tag == tag { return entry.pointee.value }
        entry += 1
      }
      return nil
    }

    /// The place to which a tag points. The section may have the address relative to `base`.
    func dynamicPointer<Target>(
      _ tag: ELF.DynamicEntry.Tag, to type: Target.Type
    ) -> UnsafePointer<Target>? {
      dynamicValue(tag).flatMap { UnsafePointer(bitPattern: $0 < base ? $0 + base : $0) }
    }

    private var dynamicSection: UnsafePointer<ELF.DynamicEntry>? {
      guard var segment = segments.baseAddress else { return nil }
      let end = segment + segments.count
      while segment < end {
        if segment.pointee.kind == ELF.Segment.dynamicSection {
          return UnsafePointer(bitPattern: base + segment.pointee.address)
        }
        segment += 1
      }
      return nil
    }
  #endif
}

#if canImport(Darwin)
  extension segment_command_64 {
    /// `SG_READ_ONLY`
    fileprivate var isReadOnlyLater: Bool { flags & 0x10 != 0 }
  }
#endif

/// The code of the images that were loaded when this value was made.
struct CodeImages: Sendable {
  /// A range of memory that holds code of an image.
  struct Image: Sendable {
    var range: Range<UInt>
    /// The difference between an address in memory and the same address in the file.
    var base: UInt
    var path: String

    var name: String { String(path.split(separator: "/").last ?? "") }
  }

  /// Sorted by address.
  private let images: [Image]

  /// O(images).
  init() {
    #if os(Linux) && _pointerBitWidth(_64)
      images = LoadedImage.all.flatMap { image in
        // The image that the kernel maps into each process has no file, so its path has no slash.
        let path = image.path.isEmpty ? LoadedImage.pathOfProgram : image.path
        return path.contains("/")
          ? image.code.map { Image(range: $0, base: image.base, path: path) } : []
      }
      .sorted { $0.range.lowerBound < $1.range.lowerBound }
    #else
      images = []
    #endif
  }

  /// The image whose code is at an address; `nil` if there is none. O(log n).
  func image(of address: UInt) -> Image? {
    let next = images.partitioned { $0.range.upperBound <= address }
    guard next < images.count, images[next].range.contains(address) else { return nil }
    return images[next]
  }
}
