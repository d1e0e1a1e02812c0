import Clocks
import Foundation

/// Runs the processes of a suite.
final class SuiteRunner {
  private let options: Options
  /// The folder in which each run has a folder of its own for the records of its processes.
  private let records: URL
  private let children: ChildProcesses
  private var runs = 0

  init(options: Options, records: URL, children: ChildProcesses) {
    (self.options, self.records, self.children) = (options, records, children)
  }

  private let inherited = ProcessInfo.processInfo.environment
  /// The library that is preloaded, in the folder of this program.
  private var library = URL(fileURLWithPath: program).resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent(libraryName).path

  #if canImport(Darwin)
    private static let program = CommandLine.arguments[0]
    private static let libraryName = "libClocksEverywhere.dylib"
  #else
    private static let program = "/proc/self/exe"
    private static let libraryName = "libClocksEverywhere.so"
  #endif

  /// Prepares the library, and builds the suite without preloading it: the tools of the build do not need it.
  func build() throws -> Int32 {
    guard FileManager.default.fileExists(atPath: library) else {
      EverywhereCommand.fail(
        "\(library) is missing: run `swift build -c release` where this command was built")
      return 1
    }
    // The variable that names the library is a list, which a space or a colon divides.
    if library.contains(where: { " :".contains($0) }) {
      let link = records.appendingPathComponent(Self.libraryName).path
      if link.contains(where: { " :".contains($0) }) {
        EverywhereCommand.fail(
          """
          a library whose path has a space or a colon cannot be preloaded, neither \(library) nor a link in \
          \(records.path). Set TMPDIR to a folder without them.
          """)
        return 1
      }
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: library)
      library = link
    }
    guard options.isSwiftTest, !options.command.contains("--skip-build") else { return 0 }
    Progress.show("building", isLast: true)
    let output = records.appendingPathComponent("build.txt").path
    let code = try children.run(
      ChildCommand(
        // Builds with all options of the command, and runs nothing.
        arguments: options.command + ["--skip", "."], environment: inherited,
        output: .file(output)))
    // The output of a build that fails contains the compiler's errors. Other output says only that no test has run, and
    // warns of it.
    if code != 0, let text = FileManager.default.contents(atPath: output) {
      try? FileHandle.standardError.write(contentsOf: text)
    }
    return code
  }

  /// Runs the command itself, and returns its exit code and what its processes recorded.
  func runCommand() throws -> (code: Int32, records: RunRecords) {
    let seed = options.orders > 1 ? nil : options.seed
    let folder = try newFolder()
    var environment = environment(folder, Order(seed: seed))
    if seed != nil || options.replay != nil {
      environment["TMPDIR"] = try newTemporaryFolder(in: folder, 0)
    }
    let code = try children.run(
      ChildCommand(arguments: options.commandOfSuite, environment: environment))
    return (code, RunRecords(folder: folder))
  }

  private struct Order {
    var seed: UInt64?
    var isReal = false
    var replays = true
  }

  private func newFolder() throws -> URL {
    runs += 1
    let folder = records.appendingPathComponent("\(runs)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  /// Returns a folder for the temporary files of a process in an order.
  ///
  /// The processes of an order draw the same random numbers in each run. If a test leaves a file behind that is named
  /// by such a number, the next run of the order must not find it. Processes that run together must not share files of
  /// a fixed name, either. The path is short, because that of a socket has at most 107 bytes.
  private func newTemporaryFolder(in folder: URL, _ process: Int) throws -> String {
    let folder = folder.appendingPathComponent("t\(process)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder.path
  }

  /// Returns the environment of the processes of a run.
  private func environment(_ folder: URL, _ order: Order) -> [String: String] {
    var environment = inherited
    #if canImport(Darwin)
      environment["DYLD_INSERT_LIBRARIES"] = library
    #else
      environment["LD_PRELOAD"] = ([library] + [inherited["LD_PRELOAD"]].compactMap { $0 })
        .joined(separator: ":")
    #endif
    environment["CLOCKS_EVERYWHERE"] = order.isReal ? "real" : "1"
    environment["CLOCKS_EVERYWHERE_RECORDS"] = folder.path
    environment["CLOCKS_EVERYWHERE_RECORDER"] = nil
    environment["CLOCKS_EVERYWHERE_PARENT"] = "\(getpid())"
    environment["CLOCKS_EVERYWHERE_SEED"] = order.seed.map { "\($0)" }
    environment["CLOCKS_EVERYWHERE_REPLAY"] = order.replays ? options.replay?.text : nil
    environment["CLOCKS_EVERYWHERE_REAL"] = options.real.joined(separator: "\n")
    environment["CLOCKS_EVERYWHERE_ONLY"] = options.only.joined(separator: "\n")
    return environment
  }

  /// Repeats the processes of a run once in each order, and returns the records of each order.
  ///
  /// - Parameter test: The only test to run, one of Swift Testing; `nil` to run all.
  private func `repeat`(
    _ first: RunRecords, _ orders: [Order], only test: String? = nil, isShown: Bool = false
  ) throws -> [RunRecords] {
    let folders = try orders.map { _ in try newFolder() }
    let processes = first.processes.filter { test == nil || Options.runsSwiftTesting($0.arguments) }
    let temporary = try zip(folders, orders).map { folder, order in
      try processes.indices.map { order.isReal ? nil : try newTemporaryFolder(in: folder, $0) }
    }
    var crashes = orders.map { _ in 0 }
    var left = orders.map { _ in processes.count }
    try children.run(
      count: orders.count * processes.count,
      width: min(ProcessInfo.processInfo.activeProcessorCount, orders.count),
      command: { number in
        let (run, process) = number.quotientAndRemainder(dividingBy: processes.count)
        let real = orders[run].isReal ? 2 * first.virtualSeconds : 0
        let arguments = Options.withoutFiles(processes[process].arguments)
        var environment = environment(folders[run], orders[run])
        if let folder = temporary[run][process] { environment["TMPDIR"] = folder }
        environment["LLVM_PROFILE_FILE"] = Options.coverageFile(
          inherited: environment["LLVM_PROFILE_FILE"])
        return ChildCommand(
          arguments: test.map { Options.arguments(arguments, for: $0) } ?? arguments,
          environment: environment, folder: processes[process].folder,
          output: .none, limit: 60 + 20 * first.realSeconds + real)
      },
      ended: { number, code in
        let run = number / processes.count
        if code > 1 { crashes[run] += 1 }
        left[run] -= 1
        guard isShown, left[run] == 0 else { return }
        let done = 1 + left.count { $0 == 0 }
        Progress.show("\(done) of \(options.orders) orders", isLast: done == options.orders)
      })
    return orders.indices.map { run in
      var records = RunRecords(folder: folders[run])
      records.seed = orders[run].seed
      records.crashes = crashes[run]
      return records
    }
  }

  func runOrders(of first: RunRecords) throws -> [RunRecords] {
    let seeds = EverywhereSettings.seeds(after: options.seed ?? 1, count: options.orders - 1)
    let orders = seeds.map { Order(seed: $0) }
    return try self.repeat(first, orders, isShown: true)
  }

  func runInRealTime(_ first: RunRecords) throws -> RunRecords {
    Progress.show("again in real time, because tests have failed", isLast: true)
    return try self.repeat(first, [Order(isReal: true)])[0]
  }

  /// Repeats a run first in, first out, to tell whether its failures depend on the order.
  func runFirstInFirstOut(_ first: RunRecords) throws -> RunRecords {
    var records = try self.repeat(first, [Order(replays: false)])[0]
    records.seed = 0
    return records
  }

  /// Repeats the orders of some seeds, to tell whether the tests that failed in them fail again.
  func replay(_ first: RunRecords, seeds: [UInt64]) throws -> [RunRecords] {
    try self.repeat(first, seeds.map { Order(seed: $0) })
  }

  /// Repeats one test of Swift Testing in the order of a seed.
  func replay(_ first: RunRecords, test: String, seed: UInt64) throws -> RunRecords {
    try self.repeat(first, [Order(seed: seed)], only: test)[0]
  }
}
