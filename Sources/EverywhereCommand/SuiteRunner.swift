import Foundation
import Synchronization

/// Runs the processes of a suite.
struct SuiteRunner: Sendable {
  let options: Options
  /// The folder in which each run has a folder of its own for the records of its processes.
  let records: URL

  private let inherited = ProcessInfo.processInfo.environment
  private let library = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent(libraryName).path

  private static var libraryName: String {
    #if canImport(Darwin)
      "libClocksEverywhere.dylib"
    #else
      "libClocksEverywhere.so"
    #endif
  }

  func folder(_ run: Int) -> URL { records.appendingPathComponent("\(run)") }

  /// Builds the suite without the library, which the tools of the build do not need.
  func build() throws -> Int32 {
    guard FileManager.default.fileExists(atPath: library) else {
      EverywhereCommand.fail("\(library) is missing: build the package with `swift build`")
      return 1
    }
    guard options.isSwiftTest, !options.command.contains("--skip-build") else { return 0 }
    return try Child(
      options.command + ["--list-tests"], environment: inherited, output: .standardError
    )
    .run()
  }

  func runCommand() throws -> Int32 {
    var command = options.command
    if options.isSwiftTest, !command.contains("--skip-build") {
      command.insert("--skip-build", at: 2)
    }
    let seed = options.orders > 1 ? nil : options.seed
    return try Child(command, environment: try environment(0, seed: seed)).run()
  }

  /// Returns the environment of the processes of a run, whose folder is made.
  private func environment(
    _ run: Int, seed: UInt64?, isReal: Bool = false, replays: Bool = true
  ) throws -> [String: String] {
    let folder = folder(run)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var environment = inherited
    #if canImport(Darwin)
      environment["DYLD_INSERT_LIBRARIES"] = library
    #else
      environment["LD_PRELOAD"] = ([library] + [inherited["LD_PRELOAD"]].compactMap { $0 })
        .joined(separator: ":")
    #endif
    environment["CLOCKS_EVERYWHERE"] = isReal ? "real" : "1"
    environment["CLOCKS_EVERYWHERE_RECORDS"] = folder.path
    environment["CLOCKS_EVERYWHERE_SEED"] = seed.map { "\($0)" }
    environment["CLOCKS_EVERYWHERE_REPLAY"] = replays ? options.replay : nil
    environment["CLOCKS_EVERYWHERE_REAL"] = options.real.joined(separator: "\n")
    environment["CLOCKS_EVERYWHERE_ONLY"] = options.only.joined(separator: "\n")
    return environment
  }

  /// Repeats the processes of a run, and returns what became of their tests.
  private func `repeat`(
    _ first: RunRecords, as run: Int, seed: UInt64?, isReal: Bool = false, replays: Bool = true
  ) throws -> RunRecords {
    let environment = try environment(run, seed: seed, isReal: isReal, replays: replays)
    var crashes = 0
    for process in first.processes {
      let limit = isReal ? 3600 : 60 + 20 * first.realSeconds
      let child = Child(
        process.arguments, environment: environment, folder: process.folder, output: .none,
        limit: limit)
      if try child.run() > 1 { crashes += 1 }
    }
    var records = RunRecords(folder: folder(run))
    records.seed = seed
    records.crashes = crashes
    return records
  }

  func runOrders(of first: RunRecords) throws -> [RunRecords] {
    let next = Mutex(1)
    let runs = Mutex<[RunRecords]>([])
    let problem = Mutex<(any Error)?>(nil)
    let base = options.seed ?? 1
    let width = min(ProcessInfo.processInfo.activeProcessorCount, options.orders - 1)
    DispatchQueue.concurrentPerform(iterations: width) { _ in
      while true {
        let run = next.withLock { next in
          defer { next += 1 }
          return next
        }
        guard run < options.orders else { return }
        do {
          let records = try self.repeat(first, as: run, seed: base + UInt64(run))
          let done = runs.withLock { runs in
            runs.append(records)
            return runs.count + 1
          }
          Progress.show("\(done) of \(options.orders) orders", isLast: done == options.orders)
        } catch {
          problem.withLock { $0 = error }
          return
        }
      }
    }
    if let problem = problem.withLock({ $0 }) { throw problem }
    return runs.withLock { $0 }.sorted { ($0.seed ?? 0) < ($1.seed ?? 0) }
  }

  func runInRealTime(_ first: RunRecords) throws -> RunRecords {
    Progress.show("again in real time, because tests have failed", isLast: true)
    return try self.repeat(first, as: options.orders, seed: nil, isReal: true)
  }

  /// Repeats a run in another order, to tell whether its failures depend on the order.
  func runFirstInFirstOut(_ first: RunRecords) throws -> RunRecords {
    var records = try self.repeat(first, as: options.orders + 1, seed: nil, replays: false)
    records.seed = 0
    return records
  }

  func replay(_ first: RunRecords, seed: UInt64) throws -> RunRecords {
    try self.repeat(first, as: options.orders + 2 + Int(seed % 1_000_000), seed: seed)
  }
}

/// A child process.
struct Child {
  enum Output {
    case inherited
    case standardError
    case none
  }

  let command: [String]
  var environment: [String: String]
  var folder: String?
  var output = Output.inherited
  /// After how many seconds the process is ended.
  var limit: Double?

  init(
    _ command: [String], environment: [String: String], folder: String? = nil,
    output: Output = .inherited, limit: Double? = nil
  ) {
    (self.command, self.environment, self.folder) = (command, environment, folder)
    (self.output, self.limit) = (output, limit)
  }

  /// Runs the process to its end, and returns its exit code; 128 and more for a signal.
  func run() throws -> Int32 {
    let process = Process()
    let isPath = command[0].contains("/")
    process.executableURL = URL(fileURLWithPath: isPath ? command[0] : "/usr/bin/env")
    process.arguments = isPath ? Array(command.dropFirst()) : command
    process.environment = environment
    if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
    switch output {
    case .inherited: break
    case .standardError: process.standardOutput = FileHandle.standardError
    case .none:
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
    }
    process.standardInput = FileHandle.nullDevice
    let ended = DispatchSemaphore(value: 0)
    process.terminationHandler = { _ in ended.signal() }
    try process.run()
    if let limit, ended.wait(timeout: .now() + limit) == .timedOut {
      kill(process.processIdentifier, SIGKILL)
    } else if limit == nil {
      ended.wait()
    }
    process.waitUntilExit()
    return process.terminationReason == .exit
      ? process.terminationStatus : 128 + process.terminationStatus
  }
}

/// A line on the terminal that says how far the command is.
enum Progress {
  static func show(_ text: String, isLast: Bool) {
    guard isatty(STDERR_FILENO) == 1 else { return }
    FileHandle.standardError.write(
      Data("\r\u{1B}[Kclocks-everywhere: \(text)\(isLast ? "\n" : "")".utf8))
  }
}
