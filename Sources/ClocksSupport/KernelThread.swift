#if os(Linux) && canImport(Glibc)
  /// The state of a thread of this process, as the kernel reports it.
  package enum KernelThread {
    /// Whether a thread runs or waits for a processor; `false` if that is not known.
    ///
    /// A signal handler may call this: it allocates nothing and takes no lock.
    package static func canRun(_ number: CInt) -> Bool {
      let error = errno
      defer { errno = error }
      return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { buffer in
        write("/proc/self/task/", number, "/stat", into: buffer)
        let file = buffer.withMemoryRebound(to: CChar.self) { open($0.baseAddress!, O_RDONLY) }
        guard file >= 0 else { return false }
        defer { close(file) }
        // For example `42 (name of the thread) R 1 …`. A name has at most 15 bytes.
        let count = read(file, buffer.baseAddress, buffer.count)
        var position = count - 3
        while position >= 0, buffer[position] != UInt8(ascii: ")") { position -= 1 }
        return position >= 0 && buffer[position + 2] == UInt8(ascii: "R")
      }
    }

    private static func write(
      _ prefix: StaticString, _ number: CInt, _ suffix: StaticString,
      into buffer: UnsafeMutableBufferPointer<UInt8>
    ) {
      var end = 0
      while end < prefix.utf8CodeUnitCount {
        buffer[end] = prefix.utf8Start[end]
        end += 1
      }
      var unit: CInt = 1
      while number / unit >= 10 { unit *= 10 }
      while unit > 0 {
        buffer[end] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / unit % 10)
        unit /= 10
        end += 1
      }
      var index = 0
      while index <= suffix.utf8CodeUnitCount {
        // A static string ends with a zero.
        buffer[end + index] = suffix.utf8Start[index]
        index += 1
      }
    }
  }
#endif
