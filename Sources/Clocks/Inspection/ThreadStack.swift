import ClocksSupport

/// The call stack of another thread (x86-64).
///
/// The kernel reports the stack pointer of a thread that is blocked in a system call. Swift keeps a chain of frames on
/// the stack: each frame has the address of the caller's frame, and the address to which the function returns. Such a
/// thread is not disturbed; if it continues meanwhile, the result is wrong or empty. A thread that runs is interrupted
/// for a moment (`RunningThread`). AddressSanitizer may keep variables outside the stack. Then the
/// address of a variable does not identify a thread.
struct ThreadStack {
  /// The functions that the thread is in, the innermost first: the address of the call in each.
  private(set) var functions: [UInt] = []
  /// Whether the thread was running.
  private(set) var isRunning = false
  /// The words of the stack from the stack pointer to the `mark` of the initializer.
  private var words: [UInt] = []

  private static let word = UInt(MemoryLayout<UInt>.size)
  /// The most bytes of a stack that are read.
  private static let most: UInt = 1 << 20

  /// Reads the stack that contains `mark`, from its innermost frame to `mark`.
  ///
  /// The result is empty if no thread has such a stack.
  ///
  /// - Parameter mark: An address in the frame of a function that called all functions of interest.
  init(ofThreadAt mark: UInt, in images: CodeImages) {
    #if os(Linux) && arch(x86_64)
      guard mark != 0 else { return }
      let end = Self.ends().filter { $0 < mark && mark - $0 < Self.most }.max()
      if let end,
        let read = ProcessMemory.words(at: end, count: Int((mark - end) / Self.word) + 1)
      {
        words = read
        functions = Self.functions(words, at: end, images)
      }
      #if canImport(Glibc)
        let least = end ?? (mark > Self.most ? mark - Self.most : 0)
        guard functions.isEmpty, let stack = RunningThread.stack(upTo: mark, above: least) else {
          return
        }
        isRunning = true
        words = stack.words
        // Each address except the first one is the address of a call.
        functions = [stack.instruction] + Self.functions(words, at: stack.end, images)
      #endif
    #endif
  }

  /// Whether the address of an object is on the stack.
  ///
  /// The runtime notes the actor of the thread's task on the stack, which also has remains of earlier calls.
  func mentions(_ object: UInt) -> Bool { words.contains(object) }

  #if os(Linux) && arch(x86_64)
    /// Tries each word as the beginning of the chain of frames, which ends at the mark or beyond it.
    ///
    /// Returns the longest chain, because remains of earlier calls look like short ones.
    static func functions(_ words: [UInt], at end: UInt, _ images: CodeImages) -> [UInt] {
      let mark = end + UInt(words.count - 1) * word
      var longest: [UInt] = []
      var last = words.count - 1
      for first in words.indices.dropLast() where first < last {
        var found: [UInt] = []
        var place = first
        // The index of the current frame's first word. The frame ends with the two words at `place`.
        var begin = 0
        while place + 1 < words.count {
          // In the frame of an async function, bit 60 of the caller's address is set.
          let caller = words[place] & ~(1 << 60)
          guard
            // The caller's frame is beyond the two words of this one, also if the stack pointer is not aligned.
            caller >= end + UInt(place + 2) * word, caller % 16 == 0,
            let address = returnAddress(above: words[place...], isFirst: found.isEmpty, images)
          else { break }
          found += skipped(words[begin..<place], calledFrom: address, after: found.last, images)
          // Notes the address of the call, because the return address may belong to the next line.
          found.append(address - 1)
          guard caller < mark else {
            if longest.isEmpty { last = min(last, first + 512) }
            if found.count > longest.count { longest = found }
            break
          }
          begin = place + 2
          place = Int((caller - end) / word)
        }
      }
      return longest
    }

    /// Returns the return address above the start of `words`; `nil` if there is none, so that no frame starts there.
    ///
    /// An async function may reserve stack above its frame, for the arguments of the function that it calls last. Then
    /// the return address is above these. The innermost function of a blocked thread is not async.
    private static func returnAddress(
      above words: ArraySlice<UInt>, isFirst: Bool, _ images: CodeImages
    ) -> UInt? {
      let most = isFirst ? 2 : 18
      return stride(from: 1, to: min(most, words.count), by: 2).lazy
        .map { words[words.startIndex + $0] }.first { isReturn(to: $0, images) }
    }

    /// Returns the call in a function that the chain skips, because it called a function without a frame.
    ///
    /// A C function may have no frame. The return address into the skipped function is in its own frame, among
    /// remains of earlier calls. It counts only if it is in the function that the call before `address` calls.
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

    /// Whether the instruction before an address is a call.
    private static func isReturn(to address: UInt, _ images: CodeImages) -> Bool {
      guard images.image(of: address) != nil, let code = bytes(before: address)
      else { return false }
      // A call is `call rel32`, or goes through a register or memory, with or without a displacement.
      if code[2] == 0xE8 { return true }
      return [5, 4, 3, 1].contains { code[$0] == 0xFF && code[$0 + 1] & 0x38 == 0x10 }
    }

    private static func bytes(before address: UInt) -> [UInt8]? {
      var bytes = [UInt8](repeating: 0, count: 7)
      let isRead = bytes.withUnsafeMutableBytes { ProcessMemory.read(address - 7, into: $0) }
      return isRead ? bytes : nil
    }

    /// The stack pointers of the threads that are blocked.
    private static func ends() -> [UInt] {
      ProcFileSystem.threads.compactMap { thread in
        let fields = ProcFileSystem.words(of: thread, in: .syscall)
        return fields.count >= 3 ? UInt(fields[fields.count - 2].dropFirst(2), radix: 16) : nil
      }
    }
  #endif
}
