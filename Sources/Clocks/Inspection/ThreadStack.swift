#if os(Linux)
  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif
#endif

/// The call stack of another thread that is blocked in a call of the system's (x86-64).
///
/// The kernel says where the stack of such a thread ends. Swift keeps a chain of frames on it: each has
/// the place of its caller's, and the address at which the caller goes on. The thread is not disturbed;
/// if it goes on meanwhile, what is read is wrong or nothing, and does no harm. Under AddressSanitizer,
/// which may put a function's variables elsewhere, threads are not known by an address on their stacks.
struct ThreadStack {
  /// The functions that the thread is in, the innermost first: an address in each, at the call.
  private(set) var functions: [UInt] = []
  /// What is written on the stack, from its end to the mark.
  private var words: [UInt] = []

  private static let word = UInt(MemoryLayout<UInt>.size)
  /// What of a stack is looked at, in bytes.
  private static let most: UInt = 1 << 20

  /// Empty if the thread runs at this moment, or is not known.
  ///
  /// - Parameter mark: An address on the stack of the thread, outside of everything that is of interest.
  init(ofThreadAt mark: UInt, in images: CodeImages) {
    #if os(Linux) && arch(x86_64)
      guard
        mark != 0, let end = Self.ends().filter({ $0 < mark && mark - $0 < Self.most }).max(),
        let words = ProcessMemory.words(at: end, count: Int((mark - end) / Self.word) + 1)
      else { return }
      self.words = words
      functions = Self.functions(words, at: end, images)
    #endif
  }

  /// Whether an object is mentioned on the stack. The runtime notes there on which actor the thread's
  /// task runs; but what earlier calls have left there is not wiped out.
  func mentions(_ object: UInt) -> Bool { words.contains(object) }

  #if os(Linux) && arch(x86_64)
    /// The frames are linked up to the mark: where such a chain begins is found by trying.
    private static func functions(
      _ words: [UInt], at end: UInt, _ images: CodeImages
    ) -> [UInt] {
      let mark = end + UInt(words.count - 1) * word
      for first in words.indices.dropLast() {
        var found: [UInt] = []
        var place = first
        // Where the frame begins, which ends with the place of the caller's.
        var begin = 0
        while place + 1 < words.count {
          let (caller, address) = (words[place], words[place + 1])
          guard
            caller > end + UInt(place) * word, caller % 16 == 0, isReturn(to: address, images)
          else { break }
          found += skipped(words[begin..<place], calledFrom: address, after: found.last, images)
          // Where the call is, not where it returns to: that may be in the next line.
          found.append(address - 1)
          guard caller < mark else { return found }
          begin = place + 2
          place = Int((caller - end) / word)
        }
      }
      return []
    }

    /// Where a function is that has called one without a frame, as those of the C library are: nothing
    /// in the chain names it, but it stands in its own frame, among what earlier calls have left there.
    /// It counts if it is in the function that its caller calls.
    private static func skipped(
      _ frame: ArraySlice<UInt>, calledFrom address: UInt, after known: UInt?, _ images: CodeImages
    ) -> [UInt] {
      guard let call = bytes(before: address), call[2] == 0xE8 else { return [] }
      let distance = (3..<7).reduce(UInt32(0)) { $0 | UInt32(call[$1]) << (8 * ($1 - 3)) }
      let function = address &+ UInt(bitPattern: Int(Int32(bitPattern: distance)))
      func isInIt(_ address: UInt) -> Bool { address > function && address - function < 1 << 14 }
      if let known, isInIt(known) { return [] }
      return frame.filter { isInIt($0) && isReturn(to: $0, images) }.min().map { [$0 - 1] } ?? []
    }

    /// Whether code is at the address, after a call.
    private static func isReturn(to address: UInt, _ images: CodeImages) -> Bool {
      guard images.stretch(of: address) != nil, let code = bytes(before: address) else {
        return false
      }
      // call rel32; or call through a register, or through memory with or without a displacement.
      if code[2] == 0xE8 { return true }
      return [5, 4, 3, 1].contains { code[$0] == 0xFF && code[$0 + 1] & 0x38 == 0x10 }
    }

    private static func bytes(before address: UInt) -> [UInt8]? {
      var bytes = [UInt8](repeating: 0, count: 7)
      let isRead = bytes.withUnsafeMutableBytes { ProcessMemory.read(address - 7, into: $0) }
      return isRead ? bytes : nil
    }

    /// Where the stacks of the threads end that are blocked.
    private static func ends() -> [UInt] {
      guard let folder = opendir("/proc/self/task") else { return [] }
      defer { closedir(folder) }
      var ends: [UInt] = []
      while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) {
          String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        guard Int(name) != nil else { continue }
        // "running", or the call with six arguments, and the ends of stack and code.
        let fields = SystemFile.text("/proc/self/task/\(name)/syscall").split(separator: " ")
        guard fields.count >= 3, let end = UInt(fields[fields.count - 2].dropFirst(2), radix: 16)
        else { continue }
        ends.append(end)
      }
      return ends
    }
  #endif
}
