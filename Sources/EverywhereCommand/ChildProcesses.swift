import ClocksSupport
import Foundation

struct ChildCommand {
  enum Output {
    case inherited
    case none
    /// Standard output and standard error go to a file.
    case file(String)
  }

  var arguments: [String]
  var environment: [String: String]
  var folder: String?
  var output = Output.inherited
  /// The number of seconds after which the process is ended.
  var limit: Double?
}

/// The child processes of the command: none outlives it.
///
/// Each child leads a process group, which ends when the child's limit has passed or the command is interrupted. If
/// the command is killed, the kernel ends the test processes that the command started itself (`Everywhere.begin`).
///
/// Used on the main thread only: for the kernel, the parent of a process ends when the thread that has started the
/// process ends.
final class ChildProcesses {
  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  private struct Running {
    var index: Int
    /// On a clock that neither a change of the date nor a machine that sleeps moves.
    var deadline: SuspendingClock.Instant?
  }

  private var running: [pid_t: Running] = [:]
  private var signals = sigset_t()
  /// A text in the environment of each process of the suite, by which `endAll` finds those whose parents have ended.
  var mark = ""
  /// Is called before the command ends because it was interrupted.
  var interrupted: () -> Void = {}

  /// Blocks the signals that are waited for, before the process has a second thread.
  init() {
    sigemptyset(&signals)
    for number in [SIGINT, SIGTERM, SIGHUP] {
      var old = sigaction()
      sigaction(number, nil, &old)
      // A signal that is ignored already, for example under `nohup`, stays ignored.
      if !Self.isIgnored(old) { sigaddset(&signals, number) }
    }
    for number in [SIGCHLD, SIGALRM] {
      signal(number) { _ in }
      sigaddset(&signals, number)
    }
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// Lets signals end this process, which runs no other process from now on.
  func finish() {
    for number in [SIGINT, SIGTERM, SIGHUP] where sigismember(&signals, number) == 1 {
      signal(number, SIG_DFL)
    }
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  }

  private static func isIgnored(_ action: sigaction) -> Bool {
    #if canImport(Darwin)
      let handler = action.__sigaction_u.__sa_handler
    #else
      let handler = action.__sigaction_handler.sa_handler
    #endif
    return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Runs a process to its end, and returns its exit code; 128 and more for a signal.
  func run(_ command: ChildCommand) throws -> Int32 {
    var code: Int32 = 0
    try run(count: 1, width: 1, command: { _ in command }, ended: { code = $1 })
    return code
  }

  /// Runs processes, at most `width` at a time, and reports the exit code of each.
  func run(
    count: Int, width: Int, command: (Int) throws -> ChildCommand,
    ended: (_ index: Int, _ code: Int32) -> Void
  ) throws {
    setTimer(isOn: true)
    defer { setTimer(isOn: false) }
    var next = 0
    while next < count || !running.isEmpty {
      do {
        while next < count, running.count < width {
          try start(command(next), next)
          next += 1
        }
      } catch {
        killAll()
        throw error
      }
      switch nextSignal() {
      case SIGCHLD: reap(ended)
      case SIGALRM: endOverdue()
      case let number: endAll(number)
      }
    }
  }

  private func nextSignal() -> CInt {
    var number: CInt = 0
    while sigwait(&signals, &number) != 0 {}
    return number
  }

  /// Starts or stops a timer that sends `SIGALRM` four times a second.
  private func setTimer(isOn: Bool) {
    let interval = timeval(tv_sec: 0, tv_usec: isOn ? 250_000 : 0)
    var timer = itimerval(it_interval: interval, it_value: interval)
    #if canImport(Darwin)
      setitimer(ITIMER_REAL, &timer, nil)
    #else
      setitimer(__itimer_which_t(0), &timer, nil)
    #endif
  }

  private func reap(_ ended: (Int, Int32) -> Void) {
    for (process, child) in running {
      // While the child is not reaped, its number, which is also its group's, belongs to no other process.
      var info = siginfo_t()
      guard waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0,
        info.si_signo == SIGCHLD
      else { continue }
      // The rest of the group: processes that the child left behind.
      kill(-process, SIGKILL)
      var status: CInt = 0
      waitpid(process, &status, 0)
      running[process] = nil
      let number = status & 0x7F
      ended(child.index, number == 0 ? (status >> 8) & 0xFF : 128 + number)
    }
  }

  private func endOverdue() {
    for (process, child) in running where child.deadline.map({ $0 < .now }) ?? false {
      killTree(of: process)
    }
  }

  private func killTree(of process: pid_t) {
    for member in ProcessTree.descendants(of: process) { kill(member, SIGKILL) }
    kill(-process, SIGKILL)
  }

  /// Kills all children and waits for their ends, because another child could not be started.
  private func killAll() {
    for process in running.keys {
      killTree(of: process)
      waitpid(process, nil, 0)
    }
    running = [:]
  }

  /// Ends all children, and then this process, by the signal that this process received.
  private func endAll(_ number: CInt) -> Never {
    for process in running.keys { kill(-process, number) }
    // The children get two seconds, in which `swift test` can end its test process.
    let deadline = SuspendingClock.now + .seconds(2)
    while !running.isEmpty, .now < deadline {
      if nextSignal() == SIGCHLD { reap { _, _ in } }
    }
    for process in running.keys { kill(-process, SIGKILL) }
    // A process may have started another one after it received the signal, and may do so before it is killed.
    for _ in 0..<20 {
      while waitpid(-1, nil, WNOHANG) > 0 {}
      let members = ProcessTree.descendants(of: getpid()) + ProcessTree.processes(with: mark)
      if members.isEmpty { break }
      for member in members { kill(member, SIGKILL) }
      // A process that ends sends a signal, and so does the timer.
      _ = nextSignal()
    }
    interrupted()
    signal(number, SIG_DFL)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    kill(getpid(), number)
    exit(128 + number)
  }

  private func start(_ command: ChildCommand, _ index: Int) throws {
    #if canImport(Darwin)
      var attributes: posix_spawnattr_t?
      var actions: posix_spawn_file_actions_t?
    #else
      var attributes = posix_spawnattr_t()
      var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawnattr_init(&attributes)
    posix_spawn_file_actions_init(&actions)
    defer {
      posix_spawnattr_destroy(&attributes)
      posix_spawn_file_actions_destroy(&actions)
    }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETPGROUP))
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    switch command.output {
    case .inherited: break
    case .none:
      posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    case .file(let path):
      posix_spawn_file_actions_addopen(
        &actions, STDOUT_FILENO, path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
    }
    var arguments = command.arguments.map { strdup($0) } + [nil]
    var environment = command.environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in arguments + environment { free(text) } }
    let before = FileManager.default.currentDirectoryPath
    if let folder = command.folder {
      guard FileManager.default.changeCurrentDirectoryPath(folder) else {
        throw Problem(description: "the folder \(folder) is gone")
      }
    }
    defer { _ = FileManager.default.changeCurrentDirectoryPath(before) }
    var process: pid_t = 0
    let error = posix_spawnp(
      &process, command.arguments[0], &actions, &attributes, &arguments, &environment)
    guard error == 0 else {
      throw Problem(
        description: "cannot run \(command.arguments[0]): \(String(cString: strerror(error)))")
    }
    running[process] = Running(index: index, deadline: command.limit.map { .now + .seconds($0) })
  }
}

/// The processes of the machine, as far as the kernel lists them (Linux).
enum ProcessTree {
  /// Returns the children of a process, their children, and so on. O(processes of the machine).
  static func descendants(of process: pid_t) -> [pid_t] {
    let all = Dictionary(grouping: all, by: parent)
    var found: [pid_t] = []
    var next = [process]
    while let parent = next.popLast() {
      let children = all[parent] ?? []
      found += children
      next += children
    }
    return found
  }

  /// Returns the processes whose environments contain a text. O(processes of the machine).
  ///
  /// The kernel shows only the environments of processes of the same user.
  static func processes(with mark: String) -> [pid_t] {
    all.filter { process in
      let data = FileManager.default.contents(atPath: "/proc/\(process)/environ")
      return process != getpid() && data?.range(of: Data(mark.utf8)) != nil
    }
  }

  private static var all: [pid_t] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { pid_t($0) }
  }

  private static func parent(of process: pid_t) -> pid_t? {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
      // The name of the program is in parentheses, and may contain any character. The state follows.
      let end = text.lastIndex(of: ")")
    else { return nil }
    return text[end...].split(separator: " ").dropFirst(2).first.flatMap { pid_t($0) }
  }
}

/// A line on the terminal that says how far the command is.
enum Progress {
  static func show(_ text: String, isLast: Bool) {
    guard Terminal.isStandardErrorOne else { return }
    writeText("\r\u{1B}[Kclocks-everywhere: \(text)\(isLast ? "\n" : "")", to: STDERR_FILENO)
  }
}
