import Foundation

/// A running process of the executable.
struct DemoProcess {
  struct Result {
    let exitCode: Int32
    let isEndedBySignal: Bool
    let output: [String]
    let error: [String]
  }

  private let process = Process()
  private let ended: AsyncStream<Void>

  /// The chunks of standard output as they arrive, for one reader.
  let output: AsyncStream<Data>
  private let error: AsyncStream<Data>

  /// Starts the executable with `arguments`.
  ///
  /// - Parameter file: The destination of standard output, if ``output`` is not used.
  init(
    _ arguments: [String], environment: [String: String] = [:], writingTo file: FileHandle? = nil
  ) throws {
    // The executable is in the folder of the test bundle.
    let products = Bundle.main.executableURL?.deletingLastPathComponent()
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
    let directory = bundle.map { URL(fileURLWithPath: $0).deletingLastPathComponent() } ?? products
    process.executableURL = directory?.appendingPathComponent("ContextDemo")
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment
      .merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    let (outputPipe, errorPipe) = (Pipe(), Pipe())
    process.standardOutput = file ?? outputPipe
    process.standardError = errorPipe
    if file != nil { try outputPipe.fileHandleForWriting.close() }
    output = Self.chunks(from: outputPipe)
    error = Self.chunks(from: errorPipe)
    let (ended, continuation) = AsyncStream<Void>.makeStream()
    process.terminationHandler = { _ in continuation.finish() }
    self.ended = ended
    try process.run()
  }

  /// Sends SIGKILL.
  func kill() {
    Foundation.kill(process.processIdentifier, SIGKILL)
  }

  /// Waits for the end of the process.
  ///
  /// - Parameter start: The part of the output that has already been read.
  func end(after start: Data = Data()) async -> Result {
    let output = await output.reduce(into: start) { $0 += $1 }
    let error = await error.reduce(into: Data()) { $0 += $1 }
    for await _ in ended {}
    return Result(
      exitCode: process.terminationStatus, isEndedBySignal: process.terminationReason != .exit,
      output: Self.lines(in: output), error: Self.lines(in: error))
  }

  private static func chunks(from pipe: Pipe) -> AsyncStream<Data> {
    let (chunks, continuation) = AsyncStream<Data>.makeStream()
    // A thread, because closing a file that Dispatch still watches is not safe.
    Thread.detachNewThread {
      let file = pipe.fileHandleForReading.fileDescriptor
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = read(file, &buffer, buffer.count)
        // A signal, for example SIGCHLD, can interrupt `read`.
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        continuation.yield(Data(buffer[..<count]))
      }
      continuation.finish()
      withExtendedLifetime(pipe) {}
    }
    return chunks
  }

  private static func lines(in data: Data) -> [String] {
    String(decoding: data, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      // The empty string after the last line break.
      .dropLast()
  }
}
