#if os(Linux)
  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif
#endif

/// The functions of an executable or library, by their addresses in it (ELF, 64 bits).
///
/// Its own table of symbols, which is there without debug information, too, unless it was stripped. It
/// also has what is private to a file, which the dynamic linker does not know.
final class SymbolTable {
  private struct Function {
    var range: Range<UInt>
    var name: UInt
  }

  private struct Segment {
    var offsets: Range<UInt>
    var address: UInt
  }

  private let file: MappedFile
  private lazy var functions = readFunctions()
  private var segments: [Segment] = []

  /// `nil` if the file is not one of these, or cannot be read. O(1): the table is read when a symbol is
  /// asked for.
  init?(path: String) {
    guard let file = MappedFile(path), file.isELF64 else { return nil }
    self.file = file
    readSegments()
  }

  /// The address, as the file counts, of what stands at `offset` in it.
  func address(ofOffset offset: UInt) -> UInt? {
    segments.first { $0.offsets.contains(offset) }.map {
      $0.address + offset - $0.offsets.lowerBound
    }
  }

  /// The symbol of the function in which an address is, as the file counts. O(log n); O(n log n) at the
  /// first time.
  func symbol(at address: UInt) -> String? {
    var lower = 0
    var upper = functions.count
    while lower < upper {
      let middle = (lower + upper) / 2
      if functions[middle].range.lowerBound <= address {
        lower = middle + 1
      } else {
        upper = middle
      }
    }
    guard lower > 0, functions[lower - 1].range.contains(address) else { return nil }
    return file.text(at: functions[lower - 1].name)
  }

  private func readSegments() {
    let (table, size, count) = (file.word(32), file.half(54), file.half(56))
    for index in 0..<count {
      let header = table + index * size
      // PT_LOAD
      guard file.int(header) == 1 else { continue }
      let (offset, address, length) = (
        file.word(header + 8), file.word(header + 16), file.word(header + 32)
      )
      segments.append(Segment(offsets: offset..<offset &+ length, address: address))
    }
  }

  private func readFunctions() -> [Function] {
    let (table, size, count) = (file.word(40), file.half(58), file.half(60))
    let headers = (0..<count).map { table + $0 * size }
    // SHT_SYMTAB has all symbols, SHT_DYNSYM those that others may use.
    guard
      let symbols = headers.first(where: { file.int($0 + 4) == 2 })
        ?? headers.first(where: { file.int($0 + 4) == 11 })
    else { return [] }
    var functions: [Function] = []
    let names = headers[min(Int(file.int(symbols + 40)), headers.count - 1)]
    let (first, length) = (file.word(symbols + 24), file.word(symbols + 32))
    let nameOffset = file.word(names + 24)
    for symbol in stride(from: first, to: first &+ length, by: 24) {
      // STT_FUNC
      guard file.byte(symbol + 4) & 0xF == 2 else { continue }
      let (address, size) = (file.word(symbol + 8), file.word(symbol + 16))
      guard address != 0 else { continue }
      functions.append(
        Function(range: address..<address &+ max(size, 1), name: nameOffset + file.int(symbol)))
    }
    return functions.sorted { $0.range.lowerBound < $1.range.lowerBound }
  }
}

/// A file in memory, to be read by offsets; what is beyond its end reads as zero.
private final class MappedFile {
  private let bytes: UnsafeRawBufferPointer

  init?(_ path: String) {
    #if os(Linux)
      let file = open(path, O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { return nil }
      defer { close(file) }
      let length = lseek(file, 0, SEEK_END)
      guard
        length > 64, let start = mmap(nil, length, PROT_READ, MAP_PRIVATE, file, 0),
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

  /// Whether it is an ELF file of 64 bits, the little end first.
  var isELF64: Bool { int(0) == 0x464C_457F && byte(4) == 2 && byte(5) == 1 }

  func byte(_ offset: UInt) -> UInt { load(offset, as: UInt8.self) }
  func half(_ offset: UInt) -> UInt { load(offset, as: UInt16.self) }
  func int(_ offset: UInt) -> UInt { load(offset, as: UInt32.self) }
  func word(_ offset: UInt) -> UInt { load(offset, as: UInt64.self) }

  private func load<Value: FixedWidthInteger>(_ offset: UInt, as: Value.Type) -> UInt {
    guard offset < bytes.count, bytes.count - Int(offset) >= MemoryLayout<Value>.size else {
      return 0
    }
    return UInt(
      truncatingIfNeeded: bytes.loadUnaligned(fromByteOffset: Int(offset), as: Value.self))
  }

  /// The text at an offset that ends with a zero.
  func text(at offset: UInt) -> String {
    guard offset < bytes.count else { return "" }
    return String(decoding: bytes[Int(offset)...].prefix { $0 != 0 }, as: UTF8.self)
  }
}
