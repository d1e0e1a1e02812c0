import ClocksSupport
import Foundation

/// A child process whose outputs are read while it runs.
///
/// Foundation's `Process` is not used: its pipes are inherited by each process that another thread starts at the same
/// time. Such a process holds the pipe open when the child has ended.
struct RunningChild {
  private(set) var output: ReadEnd
  /// `nil` if the errors go to the output or to a file.
  private(set) var errors: ReadEnd?
  private let process: pid_t

  /// Held from the creation of the pipes to the start of the child, so that no other child inherits them.
  private static let creation = NSLock()

  init(
    _ executable: String, arguments: [String], environment: [String: String],
    errors: ChildProcess.Errors
  ) throws {
    Self.creation.lock()
    defer { Self.creation.unlock() }
    #if canImport(Darwin)
      var attributes: posix_spawnattr_t?
      var actions: posix_spawn_file_actions_t?
      let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_CLOEXEC_DEFAULT
    #else
      var attributes = posix_spawnattr_t()
      var actions = posix_spawn_file_actions_t()
      let flags = POSIX_SPAWN_SETPGROUP
    #endif
    posix_spawnattr_init(&attributes)
    posix_spawn_file_actions_init(&actions)
    defer {
      posix_spawnattr_destroy(&attributes)
      posix_spawn_file_actions_destroy(&actions)
    }
    // A group of its own, so that the processes that the child has started can be killed with it.
    posix_spawnattr_setflags(&attributes, Int16(flags))
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    let (outputToRead, outputToWrite) = try Self.pipe()
    defer { close(outputToWrite) }
    output = ReadEnd(descriptor: outputToRead)
    posix_spawn_file_actions_adddup2(&actions, outputToWrite, STDOUT_FILENO)
    var errorsToWrite: CInt?
    defer { errorsToWrite.map { _ = close($0) } }
    switch errors {
    case .apart:
      let ends = try Self.pipe()
      errorsToWrite = ends.write
      self.errors = ReadEnd(descriptor: ends.read)
      posix_spawn_file_actions_adddup2(&actions, ends.write, STDERR_FILENO)
    case .inOutput: posix_spawn_file_actions_adddup2(&actions, outputToWrite, STDERR_FILENO)
    case .to(let file):
      posix_spawn_file_actions_adddup2(&actions, file.fileDescriptor, STDERR_FILENO)
    }
    var arguments = ([executable] + arguments).map { strdup($0) } + [nil]
    var environment = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in arguments + environment { free(text) } }
    var process: pid_t = 0
    let error = posix_spawn(
      &process, executable, &actions, &attributes, &arguments, &environment)
    self.process = process
    guard error == 0 else {
      closeOutputs()
      throw POSIXError(POSIXErrorCode(rawValue: error) ?? .EINVAL)
    }
  }

  /// Reads the outputs until they end, waits for the end of the process, and returns its status.
  ///
  /// If that takes longer than `limit` seconds, kills the process and what it has started, and throws.
  mutating func waitForEnd(limit: Double) throws -> CInt {
    let end = RealTime(in: .seconds(limit))
    while !output.hasEnded || errors?.hasEnded == false {
      guard !end.hasPassed else { throw killed(limit) }
      var files = [output, errors].compactMap { $0 }.filter { !$0.hasEnded }
        .map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
      poll(&files, nfds_t(files.count), 100)
      for file in files where file.revents != 0 {
        if file.fd == output.descriptor { output.read() } else { errors?.read() }
      }
    }
    var status: CInt = 0
    while true {
      let ended = waitpid(process, &status, WNOHANG)
      if ended == process { return status }
      guard ended == 0 || errno == EINTR else {
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .ECHILD)
      }
      guard !end.hasPassed else { throw killed(limit) }
      usleep(1_000)
    }
  }

  private func closeOutputs() { for end in [output, errors] { end?.close() } }

  private func killed(_ limit: Double) -> HungChild {
    var status: CInt = 0
    let hadEnded = waitpid(process, &status, WNOHANG) == process
    kill(-process, SIGKILL)
    if !hadEnded { while waitpid(process, &status, 0) < 0, errno == EINTR {} }
    closeOutputs()
    let what =
      hadEnded ? "The child had ended, but its output had not," : "The child had not ended"
    return HungChild(
      description: "\(what) after \(limit) seconds:\n\(output.text)\(errors?.text ?? "")")
  }

  /// Returns the ends of a pipe that processes started from now on do not inherit.
  private static func pipe() throws -> (read: CInt, write: CInt) {
    var ends: [CInt] = [0, 0]
    guard Foundation.pipe(&ends) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EMFILE)
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}

/// The end of a pipe from which this process reads.
struct ReadEnd {
  let descriptor: CInt
  private(set) var hasEnded = false
  private var bytes: [UInt8] = []

  init(descriptor: CInt) { self.descriptor = descriptor }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Reads what there is, and closes the descriptor at the end of the output.
  mutating func read() {
    var part = [UInt8](repeating: 0, count: 1 << 16)
    let count = Foundation.read(descriptor, &part, part.count)
    if count > 0 {
      bytes += part[..<count]
    } else if count == 0 || errno != EINTR {
      close()
      hasEnded = true
    }
  }

  func close() { if !hasEnded { Foundation.close(descriptor) } }
}

/// A child process did not end in time, and was killed.
package struct HungChild: Error, CustomStringConvertible {
  package var description: String
}
