#if os(Linux)
  import ClocksSupport

  /// The threads and open files of this process, as the kernel shows them in `/proc`.
  enum ProcFileSystem {
    /// A file that the kernel has for each thread, unless it was built without that file.
    enum ThreadFile: String {
      /// `running`, or the number of the system call and its six arguments, the stack pointer and the program counter.
      case syscall
      /// The time on a processor, the time in a processor's queue, and the number of turns.
      case schedstat
      /// The child processes that the thread started.
      case children

      /// Whether the kernel shows this file, by that of the main thread.
      var isShown: Bool { text(of: getpid()).map { !$0.isEmpty || self == .children } ?? false }

      /// Thousands of these files are read each second, so this makes three system calls for most.
      fileprivate func text(of thread: pid_t) -> String? {
        let file = open("\(folder)/task/\(thread)/\(rawValue)", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        // One call returns any of these files if it fits, except the list of children.
        var text = ""
        while true {
          let part = String(unsafeUninitializedCapacity: 1024) {
            max(0, read(file, $0.baseAddress, 1024))
          }
          text += part
          guard self == .children, !part.isEmpty else { return text }
        }
      }
    }

    /// Changed by tests only.
    nonisolated(unsafe) static var folder = "/proc/self"

    /// Descriptions of the facts that the kernel does not show, as in some containers.
    static var missing: [String] {
      let files: [(isShown: Bool, effect: String, name: String)] = [
        (!threads.isEmpty, "which threads there are", "task"),
        (ThreadFile.syscall.isShown, "which threads wait", "task/*/syscall"),
        (ThreadFile.schedstat.isShown, "how long threads run", "task/*/schedstat"),
        (ThreadFile.children.isShown, "child processes", "task/*/children"),
        (numbers(in: "fd") != nil, "open files", "fd"),
      ]
      return files.filter { !$0.isShown }.map { "\($0.effect) (/proc/self/\($0.name))" }
    }

    /// The kernel's numbers of all threads of the process; none if they cannot be read.
    static var threads: [pid_t] { numbers(in: "task") ?? [] }

    /// Returns the words of a thread's file; none if the thread is over, or if the kernel does not show the file.
    static func words(of thread: pid_t, in file: ThreadFile) -> [String] {
      (file.text(of: thread) ?? "").utf8.split {
        $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n")
      }
      .compactMap(String.init)
    }

    /// Returns the nanoseconds for which the main thread of a process was ready without a processor; 0 if unknown.
    static func delay(of process: pid_t) -> UInt64 {
      let words = TextFile.read("/proc/\(process)/schedstat")?.split(separator: " ") ?? []
      return words.count > 1 ? UInt64(words[1]) ?? 0 : 0
    }

    /// Returns the names in a folder that are numbers; `nil` if the folder cannot be read.
    private static func numbers(in name: String) -> [Int32]? {
      guard let folder = opendir("\(folder)/\(name)") else { return nil }
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

    /// The sockets that another process left open in this one, as `swift test` does. They wake no test.
    private static let inheritedSockets = sockets

    /// Must be called at load: sockets that are opened later may wake a test.
    static func noteInheritedSockets() { _ = inheritedSockets }

    /// Whether the process has an open socket that it has not inherited, as far as that can be read.
    static var areSocketsNew: Bool {
      guard let sockets, let inheritedSockets else { return true }
      return !sockets.isSubset(of: inheritedSockets)
    }

    /// The names of the open sockets, without the standard streams; `nil` if they cannot be read.
    private static var sockets: Set<String>? {
      numbers(in: "fd").map { files in
        let targets = files.filter { $0 > 2 }.map { target(of: "\(folder)/fd/\($0)") }
        return Set(targets.filter { $0.hasPrefix("socket:") })
      }
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
