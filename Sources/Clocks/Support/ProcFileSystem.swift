#if os(Linux)
  import ClocksSupport

  /// What the kernel tells about this process in `/proc`: its threads and its open files.
  enum ProcFileSystem {
    /// The kernel's numbers of all threads of the process; none if they cannot be read.
    static var threads: [pid_t] { numbers(in: "/proc/self/task") }

    /// Returns the words of a thread's file; none if the thread is over.
    ///
    /// In `syscall` these are `running`, or the number of the system call and its six arguments, the stack pointer and
    /// the program counter. In `schedstat` they are the time on a processor, the time in a processor's queue, and the
    /// number of turns.
    static func words(of thread: pid_t, in file: String) -> [String] {
      let text = TextFile.read("/proc/self/task/\(thread)/\(file)") ?? ""
      return text.split { $0 == " " || $0 == "\n" }.map(String.init)
    }

    /// Returns the nanoseconds for which the main thread of a process was ready without a processor; 0 if unknown.
    static func delay(of process: pid_t) -> UInt64 {
      let words = TextFile.read("/proc/\(process)/schedstat")?.split(separator: " ") ?? []
      return words.count > 1 ? UInt64(words[1]) ?? 0 : 0
    }

    /// Returns the names in a folder that are numbers; none if the folder cannot be read.
    private static func numbers(in path: String) -> [Int32] {
      guard let folder = opendir(path) else { return [] }
      defer { closedir(folder) }
      var numbers: [Int32] = []
      while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) {
          String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        if let number = Int32(name) { numbers.append(number) }
      }
      return numbers
    }

    /// The sockets that another process has left open in this one, as `swift test` does. They wake no test.
    private static let inheritedSockets = sockets

    /// Must be called at load: sockets that are opened later may wake a test.
    static func noteInheritedSockets() { _ = inheritedSockets }

    /// Whether a socket is open that the process has not inherited.
    static var areSocketsNew: Bool { !sockets.isSubset(of: inheritedSockets) }

    /// The names of the open sockets, without the standard streams.
    private static var sockets: Set<String> {
      let files = numbers(in: "/proc/self/fd").filter { $0 > 2 }
      return Set(files.map { target(of: "/proc/self/fd/\($0)") }.filter { $0.hasPrefix("socket:") })
    }

    /// Returns the target of a symbolic link; an empty text if it cannot be read.
    static func target(of path: String) -> String {
      var target = [CChar](repeating: 0, count: 4096)
      let length = readlink(path, &target, target.count)
      return String(
        decoding: target.prefix(max(length, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }
#endif
