import ClocksSupport

// The images of this process, and the structures of their format: ELF for 64 bits, as `elf.h` and
// `link.h` declare it, or Mach-O. Neither header is part of the platform modules that Swift can
// import on Linux.

/// A program or a library that is loaded into the process.
///
/// It is valid while the image is loaded.
struct LoadedImage {
  /// The difference between an address in memory and the same address in the file.
  let base: UInt
  /// The path as the dynamic linker knows it; empty for the program on Linux.
  let path: String

  /// The name of the file, without the folders.
  var name: Substring { path.split(separator: "/").last ?? "" }

  /// The images whose file names begin with a text, for example `libswift_Concurrency`. O(images).
  static func all(named beginning: String) -> [LoadedImage] {
    all.filter { $0.name.hasPrefix(beginning) }
  }

  #if canImport(Darwin)
    private let header: UnsafeRawPointer

    /// All images, the program first. O(images).
    static var all: [LoadedImage] {
      (0..<_dyld_image_count()).compactMap { number in
        guard let path = _dyld_get_image_name(number), let header = _dyld_get_image_header(number)
        else { return nil }
        return LoadedImage(
          base: UInt(bitPattern: _dyld_get_image_vmaddr_slide(number)),
          path: String(cString: path), header: UnsafeRawPointer(header))
      }
    }

    /// The memory of the image's variables.
    ///
    /// It leaves out segments that the linker makes read-only once it has filled them (`SG_READ_ONLY`).
    var writableData: [UnsafeMutableRawBufferPointer] {
      segments.filter { $0.initprot & VM_PROT_WRITE != 0 && !$0.isReadOnlyLater }.map { segment in
        UnsafeMutableRawBufferPointer(
          start: UnsafeMutableRawPointer(bitPattern: base + UInt(segment.vmaddr)),
          count: Int(segment.vmsize))
      }
    }

    /// The memory that the linker has made read-only once it had filled it.
    var readOnlyData: [Range<UInt>] {
      segments.filter(\.isReadOnlyLater).map { segment in
        let start = base + UInt(segment.vmaddr)
        return start..<start + UInt(segment.vmsize)
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
    private let threadData: UnsafePointer<UInt>?

    /// All images, the program first. O(images).
    static var all: [LoadedImage] {
      var images: [LoadedImage] = []
      #if _pointerBitWidth(_64)
        guard let symbol = RuntimeSymbol.address(of: "dl_iterate_phdr") else { return [] }
        withUnsafeMutablePointer(to: &images) { images in
          _ = unsafeBitCast(symbol, to: Iterate.self)(
            { info, size, images in
              let hasThreadData = size >= MemoryLayout<Info>.size
              let info = info.assumingMemoryBound(to: Info.self)
              let image = LoadedImage(
                base: info.pointee.base,
                path: info.pointee.path.map { String(cString: $0) } ?? "",
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

    /// The memory of the image's code.
    var code: [Range<UInt>] {
      segments.filter { $0.kind == .load && $0.flags & ELF.Segment.isExecutable != 0 }
        .map { base + $0.address..<base + $0.address + $0.size }
    }

    /// The memory of the image's variables, from the first whole word.
    ///
    /// It leaves out what the linker makes read-only once it has filled it (`PT_GNU_RELRO`), which
    /// stands at the beginning of a segment.
    var writableData: [UnsafeMutableRawBufferPointer] {
      let locked = segments.first { $0.kind == .readOnlyLater }.map {
        $0.address..<$0.address + $0.size
      }
      return segments.compactMap { segment in
        guard segment.kind == .load, segment.flags & ELF.Segment.isWritable != 0 else { return nil }
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

    /// The whole pages that the linker has made read-only once it had filled them.
    var readOnlyData: [Range<UInt>] {
      let pageMask = ~(UInt(getpagesize()) - 1)
      return segments.filter { $0.kind == .readOnlyLater }.compactMap { segment in
        // As `_dl_protect_relro` of the GNU C library computes them.
        let start = (base + segment.address) & pageMask
        let end = (base + segment.address + segment.size) & pageMask
        return start < end ? start..<end : nil
      }
    }

    /// The variables that each thread has of its own in this image, those of the current thread;
    /// `nil` if it has none.
    var threadVariables: UnsafeBufferPointer<UInt>? {
      guard let threadData, let segment = segments.first(where: { $0.kind == .threadData }) else {
        return nil
      }
      return UnsafeBufferPointer(
        start: threadData, count: Int(segment.size) / MemoryLayout<UInt>.stride)
    }

    /// What the dynamic linker needs to know about the image: the values by their tags.
    ///
    /// Addresses are absolute, even where the linker leaves them relative to `base`.
    var dynamicSection: [ELF.DynamicEntry.Tag: UInt] {
      guard let segment = segments.first(where: { $0.kind == .dynamicSection }),
        var entry = UnsafePointer<ELF.DynamicEntry>(bitPattern: base + segment.address)
      else { return [:] }
      var values: [ELF.DynamicEntry.Tag: UInt] = [:]
      while entry.pointee.tag != .end {
        let (tag, value) = (entry.pointee.tag, entry.pointee.value)
        values[tag] = tag.isAddress && value < base ? value + base : value
        entry += 1
      }
      return values
    }
  #endif
}

#if canImport(Darwin)
  extension segment_command_64 {
    /// `SG_READ_ONLY`
    fileprivate var isReadOnlyLater: Bool { flags & 0x10 != 0 }
  }
#endif

/// The structures of ELF files of 64 bits, little-endian, in files and in memory.
enum ELF {
  /// The beginning of a file (`Elf64_Ehdr`).
  struct Header {
    /// The first six bytes: `\u{7F}ELF`, 64 bits, little-endian.
    static let expectedIdentification: UInt64 = 0x0102_464C_457F
    static let identificationMask: UInt64 = 0xFFFF_FFFF_FFFF

    var identification: UInt64
    var padding: UInt64
    var type: UInt16
    var machine: UInt16
    var version: UInt32
    var entry: UInt
    var segmentsOffset: UInt
    var sectionsOffset: UInt
    var flags: UInt32
    var headerSize: UInt16
    var segmentSize: UInt16
    var segmentCount: UInt16
    var sectionSize: UInt16
    var sectionCount: UInt16
    var namesIndex: UInt16
  }

  /// A part of a file as it is loaded into memory (`Elf64_Phdr`).
  struct Segment {
    /// `PT_…`
    struct Kind: Equatable {
      var number: UInt32

      static let load = Kind(number: 1)
      static let dynamicSection = Kind(number: 2)
      static let threadData = Kind(number: 7)
      static let readOnlyLater = Kind(number: 0x6474_E552)
    }

    static let isExecutable: UInt32 = 1
    static let isWritable: UInt32 = 2

    var kind: Kind
    var flags: UInt32
    var offset: UInt
    var address: UInt
    var physicalAddress: UInt
    var sizeInFile: UInt
    var size: UInt
    var alignment: UInt
  }

  /// A part of a file as tools see it (`Elf64_Shdr`).
  struct Section {
    /// All symbols (`SHT_SYMTAB`).
    static let symbols: UInt32 = 2
    /// The symbols that the dynamic linker knows (`SHT_DYNSYM`).
    static let dynamicSymbols: UInt32 = 11

    var name: UInt32
    var type: UInt32
    var flags: UInt
    var address: UInt
    var offset: UInt
    var size: UInt
    /// The index of the section of names that belongs to a section of symbols.
    var link: UInt32
    var info: UInt32
    var alignment: UInt
    var entrySize: UInt
  }

  /// A named address (`Elf64_Sym`).
  struct Symbol {
    /// The offset of its name among the names.
    var name: UInt32
    var info: UInt8
    var other: UInt8
    var section: UInt16
    var value: UInt
    var size: UInt

    /// Whether it is code (`STT_FUNC`).
    var isFunction: Bool { info & 0xF == 2 }
  }

  /// What the dynamic linker needs to know (`Elf64_Dyn`).
  struct DynamicEntry {
    /// `DT_…`
    struct Tag: Hashable {
      var number: Int

      static let end = Tag(number: 0)
      static let callRelocationsSize = Tag(number: 2)
      static let names = Tag(number: 5)
      static let symbols = Tag(number: 6)
      static let relocations = Tag(number: 7)
      static let relocationsSize = Tag(number: 8)
      static let callRelocations = Tag(number: 23)

      var isAddress: Bool {
        [.names, .symbols, .relocations, .callRelocations].contains(self)
      }
    }

    var tag: Tag
    var value: UInt
  }

  /// A word that the dynamic linker fills with an address (`Elf64_Rela`).
  struct Relocation {
    /// The place of the word, relative to the image's base.
    var offset: UInt
    private var info: UInt
    var addend: Int

    var symbolIndex: Int { Int(info >> 32) }

    /// Whether the word holds the address of a function or a variable, and nothing else:
    /// `R_…_GLOB_DAT` and `R_…_JUMP_SLOT`.
    var holdsAddress: Bool {
      let kind = info & 0xFFFF_FFFF
      #if arch(arm64)
        return kind == 1025 || kind == 1026
      #else
        return kind == 6 || kind == 7
      #endif
    }
  }
}
