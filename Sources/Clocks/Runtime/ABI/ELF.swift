import ClocksSupport

// `elf.h` and `link.h` are not part of the platform modules that Swift can import on Linux.

/// The structures of 64-bit, little-endian ELF files, as they are in a file and in memory.
enum ELF {
  /// Offsets in the header of a file (`Elf64_Ehdr`), in bytes.
  enum Header {
    /// The first six bytes: `\u{7F}ELF`, 64 bits, little-endian.
    static let expectedIdentification: UInt64 = 0x0102_464C_457F
    static let identificationMask: UInt64 = 0xFFFF_FFFF_FFFF

    static let sectionsOffset: UInt = 40
    static let sectionCount: UInt = 60
  }

  /// A part of a file as it is loaded into memory (`Elf64_Phdr`).
  struct Segment {
    // Kinds (`PT_…`)
    static let load: UInt32 = 1
    static let dynamicSection: UInt32 = 2
    static let threadData: UInt32 = 7
    static let readOnlyLater: UInt32 = 0x6474_E552

    // Flags (`PF_…`)
    static let isExecutable: UInt32 = 1
    static let isWritable: UInt32 = 2

    var kind: UInt32
    var flags: UInt32
    var offset: UInt
    var address: UInt
    var physicalAddress: UInt
    var sizeInFile: UInt
    var size: UInt
    var alignment: UInt

    var addresses: Range<UInt> { address..<address + size }
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
    /// For a section of symbols, the index of the section with their names.
    var link: UInt32
    var info: UInt32
    var alignment: UInt
    var entrySize: UInt
  }

  /// An entry of an image's symbol table: an address with a name (`Elf64_Sym`).
  struct Symbol {
    /// The offset of the symbol's name among the names.
    var name: UInt32
    var info: UInt8
    var other: UInt8
    var section: UInt16
    var value: UInt
    var size: UInt

    /// Whether the symbol is code (`STT_FUNC`).
    var isFunction: Bool { info & 0xF == 2 }
  }

  /// One fact that the dynamic linker needs, as a tag and a value (`Elf64_Dyn`).
  struct DynamicEntry {
    /// `DT_…`
    enum Tag: Int {
      case callRelocationsSize = 2
      case names = 5
      case symbols = 6
      case relocations = 7
      case relocationsSize = 8
      case callRelocations = 23
      /// The number of relocations without a symbol, which come first (`DT_RELACOUNT`).
      case relativeRelocationsCount = 0x6FFF_FFF9
    }

    /// A `Tag` or another number; 0 after the last entry.
    var tag: Int
    var value: UInt
  }

  /// A word that the dynamic linker fills with an address (`Elf64_Rela`).
  struct Relocation {
    /// The address of the word, relative to the image's base.
    var offset: UInt
    /// The number of the symbol, and in the lower half the kind.
    var info: UInt
    var addend: Int
  }
}

/// The functions of an executable or library, by their addresses in the file.
///
/// Files without debug information have the table, too, unless it was stripped.
final class SymbolTable {
  private let file: MappedFile
  private let symbols: UnsafeBufferPointer<ELF.Symbol>
  /// The offset of the symbols' names in the file.
  private let names: UInt
  private lazy var functions = symbols.filter { $0.isFunction && $0.value != 0 }
    .sorted { $0.value < $1.value }

  /// `nil` if the file has another format or no symbols, or cannot be read.
  init?(path: String) {
    guard let file = MappedFile(path),
      let beginning = file.values(at: 0, size: 8, as: UInt64.self).first,
      beginning & ELF.Header.identificationMask == ELF.Header.expectedIdentification,
      let offset = file.values(at: ELF.Header.sectionsOffset, size: 8, as: UInt.self).first,
      let count = file.values(at: ELF.Header.sectionCount, size: 2, as: UInt16.self).first
    else { return nil }
    let size = UInt(count) * UInt(MemoryLayout<ELF.Section>.stride)
    let sections = file.values(at: offset, size: size, as: ELF.Section.self)
    guard
      let table = sections.first(where: { $0.type == ELF.Section.symbols })
        ?? sections.first(where: { $0.type == ELF.Section.dynamicSymbols }),
      table.link < sections.count
    else { return nil }
    self.file = file
    symbols = file.values(at: table.offset, size: table.size, as: ELF.Symbol.self)
    names = sections[Int(table.link)].offset
  }

  /// The symbol of the function at an address in the file. O(log n); the first time O(n log n).
  func symbol(at address: UInt) -> String? {
    let next = functions.partitioned { $0.value <= address }
    guard next > 0, case let function = functions[next - 1],
      address - function.value < max(function.size, 1)
    else { return nil }
    return file.text(at: names &+ UInt(function.name))
  }

  /// Returns the address of a symbol in the file; `nil` if the file has no symbol of this name. O(symbols).
  func address(ofSymbol name: String) -> UInt? {
    name.withCString { wanted in
      symbols.first {
        $0.value != 0 && file.isText(at: names &+ UInt($0.name), equalTo: wanted)
      }?.value
    }
  }
}

private final class MappedFile {
  private let bytes: UnsafeRawBufferPointer

  init?(_ path: String) {
    #if os(Linux)
      let file = open(path, O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { return nil }
      defer { close(file) }
      let length = lseek(file, 0, SEEK_END)
      guard
        length > 0, let start = mmap(nil, length, PROT_READ, MAP_PRIVATE, file, 0),
        start != MAP_FAILED
      else { return nil }
      bytes = UnsafeRawBufferPointer(start: start, count: length)
    #else
      return nil
    #endif
  }

  deinit {
    #if os(Linux)
      munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count)
    #endif
  }

  /// The values in a part of the file, without those beyond its end; none if they are not aligned.
  func values<Value: BitwiseCopyable>(
    at offset: UInt, size: UInt, as type: Value.Type
  ) -> UnsafeBufferPointer<Value> {
    guard offset < bytes.count, offset % UInt(MemoryLayout<Value>.alignment) == 0 else {
      return UnsafeBufferPointer(start: nil, count: 0)
    }
    return UnsafeRawBufferPointer(rebasing: bytes[Int(offset)...].prefix(Int(clamping: size)))
      .bindMemory(to: type)
  }

  /// Returns whether the bytes at an offset are those of `text`, with the zero byte that ends it.
  func isText(at offset: UInt, equalTo text: UnsafePointer<CChar>) -> Bool {
    let length = strlen(text) + 1
    guard offset < bytes.count, bytes.count - Int(offset) >= length, let start = bytes.baseAddress
    else { return false }
    return memcmp(start + Int(offset), text, length) == 0
  }

  func text(at offset: UInt) -> String {
    guard offset < bytes.count else { return "" }
    return String(decoding: bytes[Int(offset)...].prefix { $0 != 0 }, as: UTF8.self)
  }
}
