import ClocksSupport

// `elf.h` and `link.h` are not part of the platform modules that Swift can import on Linux.

/// The structures of 64-bit, little-endian ELF files, as they are in a file and in memory.
enum ELF {
  /// `Elf64_Ehdr`
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
    struct Tag {
      var number: Int

      static let end = Tag(number: 0)
      static let callRelocationsSize = Tag(number: 2)
      static let names = Tag(number: 5)
      static let symbols = Tag(number: 6)
      static let relocations = Tag(number: 7)
      static let relocationsSize = Tag(number: 8)
      static let callRelocations = Tag(number: 23)
      /// The number of relocations without a symbol, which come first (`DT_RELACOUNT`).
      static let relativeRelocationsCount = Tag(number: 0x6FFF_FFF9)
    }

    var tag: Tag
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
  private struct Function {
    var range: Range<UInt>
    var nameOffset: UInt
  }

  private let file: MappedFile
  private let header: ELF.Header
  private lazy var functions = readFunctions()

  /// `nil` if the file has another format, or cannot be read.
  init?(path: String) {
    guard let file = MappedFile(path), let header = file.load(0, as: ELF.Header.self),
      header.identification & ELF.Header.identificationMask == ELF.Header.expectedIdentification
    else { return nil }
    (self.file, self.header) = (file, header)
  }

  /// The symbol of the function at an address in the file. O(log n); the first time O(n log n).
  func symbol(at address: UInt) -> String? {
    let next = functions.partitioned { $0.range.lowerBound <= address }
    guard next > 0, functions[next - 1].range.contains(address) else { return nil }
    return file.text(at: functions[next - 1].nameOffset)
  }

  /// Returns whether the file has a symbol of this name. O(symbols).
  func contains(_ name: String) -> Bool {
    guard let (symbols, names) = symbolSections else { return false }
    return name.withCString { wanted in
      for index in 0..<symbols.size / UInt(MemoryLayout<ELF.Symbol>.stride) {
        let offset = symbols.offset &+ index * UInt(MemoryLayout<ELF.Symbol>.stride)
        guard let symbol = file.load(offset, as: ELF.Symbol.self) else { break }
        if symbol.value != 0, file.isText(at: names.offset &+ UInt(symbol.name), equalTo: wanted) {
          return true
        }
      }
      return false
    }
  }

  private var symbolSections: (symbols: ELF.Section, names: ELF.Section)? {
    let sections = (0..<UInt(header.sectionCount)).compactMap {
      file.load(header.sectionsOffset &+ $0 * UInt(header.sectionSize), as: ELF.Section.self)
    }
    guard
      let symbols = sections.first(where: { $0.type == ELF.Section.symbols })
        ?? sections.first(where: { $0.type == ELF.Section.dynamicSymbols }),
      symbols.link < sections.count
    else { return nil }
    return (symbols, sections[Int(symbols.link)])
  }

  private func readFunctions() -> [Function] {
    guard let (symbols, names) = symbolSections else { return [] }
    var functions: [Function] = []
    for index in 0..<symbols.size / UInt(MemoryLayout<ELF.Symbol>.stride) {
      let offset = symbols.offset &+ index * UInt(MemoryLayout<ELF.Symbol>.stride)
      guard let symbol = file.load(offset, as: ELF.Symbol.self) else { break }
      let (end, isGarbage) = symbol.value.addingReportingOverflow(max(symbol.size, 1))
      guard symbol.isFunction, symbol.value != 0, !isGarbage else { continue }
      functions.append(
        Function(range: symbol.value..<end, nameOffset: names.offset &+ UInt(symbol.name)))
    }
    return functions.sorted { $0.range.lowerBound < $1.range.lowerBound }
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

  func load<Value: BitwiseCopyable>(_ offset: UInt, as: Value.Type) -> Value? {
    guard offset < bytes.count, bytes.count - Int(offset) >= MemoryLayout<Value>.size else {
      return nil
    }
    return bytes.loadUnaligned(fromByteOffset: Int(offset), as: Value.self)
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
