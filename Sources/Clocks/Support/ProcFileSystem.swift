#if os(Linux)
  import ClocksSupport

  /// What the kernel tells about this process in `/proc`: its threads and its open files.
  enum ProcFileSystem {
    /// Returns the names in a folder that are numbers; none if the folder cannot be read.
    static func numbers(in path: String) -> [String] {
      guard let folder = opendir(path) else { return [] }
      defer { closedir(folder) }
      var names: [String] = []
      while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) {
          String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        if Int(name) != nil { names.append(name) }
      }
      return names
    }

    /// The sockets that another process has left open in this one, as `swift test` does. They wake no test.
    private static let inheritedSockets = sockets

    /// Must be called at load: sockets that are opened later may wake a test.
    static func noteInheritedSockets() { _ = inheritedSockets }

    /// Whether a socket is open that the process has not inherited.
    static var areSocketsNew: Bool { !sockets.isSubset(of: inheritedSockets) }

    /// The names of the open sockets, without the standard streams.
    private static var sockets: Set<String> {
      var sockets: Set<String> = []
      for file in numbers(in: "/proc/self/fd") where Int(file)! > 2 {
        var target = [CChar](repeating: 0, count: 32)
        guard readlink("/proc/self/fd/\(file)", &target, 31) > 0 else { continue }
        let name = target.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        if name.hasPrefix("socket:") { sockets.insert(name) }
      }
      return sockets
    }
  }
#endif
