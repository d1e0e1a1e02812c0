import ClocksSupport

struct SourceLine: Hashable, Sendable {
  var path: String
  var line: Int

  var file: Substring { path.split(separator: "/").last ?? "" }
}

/// A place in an executable or library, by its address in the file.
struct CodePlace: Hashable, Sendable {
  var path: String
  var address: UInt
}

/// Finds the functions and lines of code in the debug information.
///
/// The toolchain's `llvm-symbolizer`, or else `addr2line`, reads this information in another process. The
/// module `Runtime` (SE-0419) is not used: it takes eight times as long, symbolicates addresses of suspended tasks
/// only through an SPI, and adds a library to every test bundle.
enum Symbolizer {
  typealias Meaning = (function: FunctionName?, line: SourceLine?)

  /// The time that a tool may take, not counting the time in which it waits for a processor.
  private static let limit: Duration = .seconds(10)

  private static let lock = Lock(.leaf)
  /// The tools that did not answer, which are not asked again. Guarded by the lock.
  nonisolated(unsafe) private static var silent: Set<String> = []

  /// A text that says why no symbols and lines were found.
  static var reason: String {
    let tools = lock.withLock { silent }.compactMap { $0.split(separator: "/").last }.sorted()
    return tools.isEmpty
      ? "neither llvm-symbolizer nor addr2line was found"
      : "\(tools.joined(separator: " and ")) did not answer"
  }

  /// Returns the symbols and lines of places; `nil` if no tool is found, or all fail.
  ///
  /// O(size of the debug information), some 50 ms.
  static func meanings(of places: [CodePlace]) -> [CodePlace: Meaning]? {
    for tool in tools where !lock.withLock({ silent.contains(tool.path) }) {
      if let meanings = meanings(of: places, tool) { return meanings }
      _ = lock.withLock { silent.insert(tool.path) }
    }
    return nil
  }

  private static func meanings(of places: [CodePlace], _ tool: Tool) -> [CodePlace: Meaning]? {
    var meanings: [CodePlace: Meaning] = [:]
    for some in tool.commands(places) {
      guard let output = output(of: tool.path, tool.arguments(some), lines: 2 * some.count)
      else { return nil }
      let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
      for (index, place) in some.enumerated() where 2 * index + 1 < lines.count {
        let symbol = lines[2 * index]
        meanings[place] = (
          symbol.isEmpty || symbol.first == "?" ? nil : FunctionName(String(symbol)),
          sourceLine(lines[2 * index + 1])
        )
      }
    }
    return meanings
  }

  /// Parses a tool's line, for example `/home/me/Tests/PollerTests.swift:12 (discriminator 2)`.
  private static func sourceLine(_ text: Substring) -> SourceLine? {
    guard let colon = text.lastIndex(of: ":") else { return nil }
    let number = text[colon...].dropFirst().prefix(while: \.isNumber)
    guard let line = Int(number), line > 0, !text.hasPrefix("?") else { return nil }
    // Code that a macro generated is in no file of the user.
    guard !text.contains("@__swiftmacro_") else { return nil }
    return SourceLine(path: String(text[..<colon]), line: line)
  }

  private struct Tool {
    var path: String
    var isAddr2line: Bool

    /// Divides places among commands, at most 500 for each. A command of `addr2line` takes the places of one file.
    func commands(_ places: [CodePlace]) -> [[CodePlace]] {
      var commands: [[CodePlace]] = []
      for place in places.sorted(by: { ($0.path, $0.address) < ($1.path, $1.address) }) {
        if let last = commands.last, last.count < 500, !isAddr2line || last[0].path == place.path {
          commands[commands.count - 1].append(place)
        } else {
          commands.append([place])
        }
      }
      return commands
    }

    /// The arguments request two lines for each place: the symbol of the function, and the source line.
    func arguments(_ places: [CodePlace]) -> [String] {
      func number(_ place: CodePlace) -> String { "0x" + String(place.address, radix: 16) }
      // The tool ends the path at the next quote of the same kind. It knows no escapes.
      func quoted(_ path: String) -> String {
        path.contains("\"") ? "'\(path)'" : "\"\(path)\""
      }
      return isAddr2line
        ? ["-f", "-e", places[0].path] + places.map(number)
        : ["--functions=linkage", "--no-inlines", "--no-demangle", "--output-style=GNU"]
          + places.map { "CODE \(quoted($0.path)) \(number($0))" }
    }
  }

  /// One installed tool of each kind, in the order in which they are tried.
  private static var tools: [Tool] {
    #if os(Linux)
      let folders = Environment.path.split(separator: ":").map(String.init)
      // In a toolchain, usr/lib/swift/linux/libswiftCore.so is the runtime, usr/bin/llvm-symbolizer the tool.
      let toolchain = LoadedImage.all(named: "libswiftCore").first.map {
        "/" + $0.path.split(separator: "/").dropLast(4).joined(separator: "/") + "/bin"
      }
      let places =
        ([toolchain].compactMap(\.self) + folders).map { ($0 + "/llvm-symbolizer", false) }
        + folders.map { ($0 + "/addr2line", true) }
      let found = places.filter { access($0.0, X_OK) == 0 }
      return [false, true].compactMap { kind in
        found.first { $0.1 == kind }.map { Tool(path: $0.0, isAddr2line: $0.1) }
      }
    #else
      return []
    #endif
  }

  /// Runs a command and returns what it writes; `nil` if it cannot be run, or takes too long.
  ///
  /// - Parameter lines: The number of lines to wait for. Waiting for the end of the pipe would also wait for other
  ///   processes that inherited it.
  static func output(of command: String, _ arguments: [String], lines: Int) -> String? {
    #if os(Linux)
      var ends: [CInt] = [0, 0]
      guard pipe(&ends) == 0 else { return nil }
      defer { close(ends[0]) }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      guard let process = start(command, arguments, output: ends[1]) else {
        close(ends[1])
        return nil
      }
      close(ends[1])
      let output = text(from: ends[0], of: process, lines: lines)
      // By now the tool has written everything, or takes too long.
      kill(process, SIGKILL)
      var status: CInt = 0
      while waitpid(process, &status, 0) < 0, errno == EINTR {}
      return output
    #else
      return nil
    #endif
  }

  #if os(Linux)
    private typealias CloseFrom =
      @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, CInt) -> CInt

    /// Lets the child close its files from a descriptor on. `nil` before glibc 2.34.
    private static let closeFrom = RuntimeSymbol.function(
      "posix_spawn_file_actions_addclosefrom_np", as: CloseFrom.self)

    private static func start(_ command: String, _ arguments: [String], output: CInt) -> pid_t? {
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
      posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
      // While the tool held the end of a pipe of the test, the pipe would not end.
      _ = closeFrom?(&actions, STDERR_FILENO + 1)
      var argv = ([command] + arguments).map { strdup($0) } + [nil]
      defer { for argument in argv { free(argument) } }
      // The environment is empty, because that of this process may request a sanitizer or a library to preload.
      var environment: [UnsafeMutablePointer<CChar>?] = [nil]
      var process: pid_t = 0
      let error = posix_spawn(&process, command, &actions, nil, &argv, &environment)
      return error == 0 ? process : nil
    }

    private static func text(from file: CInt, of process: pid_t, lines: Int) -> String? {
      let end = RealTime(in: limit)
      var bytes: [UInt8] = []
      var count = 0
      var part = [UInt8](repeating: 0, count: 1 << 14)
      while count < lines {
        var request = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
        // Checks the limit ten times a second.
        let ready = poll(&request, 1, 100)
        if ready < 0, errno != EINTR { return nil }
        if end.hasPassed, end.hasPassed(by: ProcFileSystem.delay(of: process)) { return nil }
        guard ready > 0 else { continue }
        let length = read(file, &part, part.count)
        guard length > 0 else { return nil }
        bytes += part[..<length]
        count += part[..<length].count { $0 == UInt8(ascii: "\n") }
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  #endif
}
