import Foundation

/// The executable, run in a process of its own.
struct DemoProcess {
  /// What is left of a process that has ended.
  struct Ended {
    let exitCode: Int32
    let hasCrashed: Bool
    let output: [String]
    let error: [String]
  }

  private let process = Process()
  private let ended: AsyncStream<Void>

  /// What it writes on standard output, as it comes; for one reader.
  let output: AsyncStream<Data>
  private let error: AsyncStream<Data>

  /// Starts the executable with `arguments`.
  ///
  /// - Parameter file: Where its standard output goes, if it is not to be read.
  init(
    _ arguments: [String], environment: [String: String] = [:], writingTo file: FileHandle? = nil
  ) throws {
    // The test bundle and the executable lie side by side.
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

  /// Does what Ctrl-C does.
  func interrupt() {
    process.interrupt()
  }

  /// Ends it at once, and leaves it no time for anything.
  func kill() {
    Foundation.kill(process.processIdentifier, SIGKILL)
  }

  /// Waits until the process has ended.
  ///
  /// - Parameter start: What has been read from its output already.
  func end(after start: Data = Data()) async -> Ended {
    let output = await output.reduce(into: start) { $0 += $1 }
    let error = await error.reduce(into: Data()) { $0 += $1 }
    for await _ in ended {}
    return Ended(
      exitCode: process.terminationStatus, hasCrashed: process.terminationReason != .exit,
      output: Self.lines(in: output), error: Self.lines(in: error))
  }

  private static func chunks(from pipe: Pipe) -> AsyncStream<Data> {
    let (chunks, continuation) = AsyncStream<Data>.makeStream()
    // A thread that waits in `read`: closing a file that Dispatch still watches is not safe.
    Thread.detachNewThread {
      let file = pipe.fileHandleForReading.fileDescriptor
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = read(file, &buffer, buffer.count)
        // A signal, for example that a child has ended, is not the end of the file.
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
      // After the last line's end there is nothing.
      .dropLast()
  }
}
