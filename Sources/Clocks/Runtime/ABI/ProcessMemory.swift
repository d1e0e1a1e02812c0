#if os(Linux)
  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif
#endif

/// Memory of this process that may have been given back: to read it then fails, and does nothing
/// else.
///
/// The kernel reads, as for a debugger, so neither a wrong address nor a sanitizer stops the process.
/// Where there is no such way nothing can be read.
enum ProcessMemory {
  #if os(Linux)
    private static let file = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
  #endif

  /// Fills the buffer with what is at `address`, and says whether all of it could be read. One system
  /// call.
  static func read(_ address: UInt, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
    #if os(Linux)
      guard file >= 0, let offset = off_t(exactly: address), offset != 0 else { return false }
      return pread(file, buffer.baseAddress, buffer.count, offset) == buffer.count
    #else
      return false
    #endif
  }

  /// The words at `address`; `nil` if they cannot be read.
  static func words(at address: UInt, count: Int) -> [UInt]? {
    guard address % UInt(MemoryLayout<UInt>.alignment) == 0 else { return nil }
    var isRead = false
    let words = [UInt](unsafeUninitializedCapacity: count) { buffer, initialized in
      isRead = read(address, into: UnsafeMutableRawBufferPointer(buffer))
      initialized = isRead ? count : 0
    }
    return isRead ? words : nil
  }

  /// Reads words into a buffer that is there already; says whether they could be read.
  static func read(_ address: UInt, into words: inout [UInt]) -> Bool {
    words.withUnsafeMutableBytes { read(address, into: $0) }
  }

  /// The text at `address` that ends with a zero, cut to some length; `nil` if it cannot be read.
  static func text(at address: UInt) -> String? {
    // A text may end shortly before memory that is not there: so by the eight bytes.
    var bytes: [UInt8] = []
    var next = address
    while bytes.count < 128 {
      var eight = [UInt8](repeating: 0, count: Int(8 - next % 8))
      guard eight.withUnsafeMutableBytes({ read(next, into: $0) }) else { return nil }
      next += UInt(eight.count)
      guard let end = eight.firstIndex(of: 0) else {
        bytes += eight
        continue
      }
      bytes += eight[..<end]
      break
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
