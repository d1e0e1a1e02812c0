import Foundation
import Testing

@testable import Clocks

/// The value of `CLOCKS_TESTS_SOAK`, or 0.
let soakCount = ProcessInfo.processInfo.environment["CLOCKS_TESTS_SOAK"].flatMap { Int($0) } ?? 0

/// A process that runs very many small tests keeps no memory, descriptors or threads of them.
///
/// The environment variable `CLOCKS_TESTS_SOAK` is the number of small tests of each kind. Without it these tests do
/// not run. 1,000,000 take a few minutes. No other test may run in the same process:
/// `CLOCKS_TESTS_SOAK=1000000 swift test -c release --filter SoakTests`. So all of them are in one suite, which runs
/// them one at a time.
@Suite(.serialized, .enabled(if: soakCount > 0)) struct SoakTests {
  @Test func aMillionTestClocks() async throws {
    try await soak("TestClock") {
      let clock = TestClock()
      let woken = Tally()
      for seconds in 1...3 {
        Task {
          try await clock.sleep(for: .seconds(seconds))
          woken.add()
        }
      }
      await clock.advance(by: .seconds(3))
      return woken.value == 3
    }
  }

  @Test func aMillionScopes() async throws {
    try await soak("withVirtualTime") {
      let woken = Tally()
      try? await withVirtualTime { time in
        for seconds in 1...3 {
          Task {
            try await Task.sleep(for: .seconds(seconds))
            woken.add()
          }
        }
        try await time.clock.sleep(for: .seconds(4))
      }
      return woken.value == 3
    }
  }

  private func soak(
    _ name: String, _ smallTest: @escaping @Sendable () async -> Bool
  ) async throws {
    let start = TaskOwnership.shared.census
    var failures = 0
    var size: ProcessSize?
    for number in 1...soakCount {
      if await !Task.detached(operation: smallTest).value { failures += 1 }
      if number == max(1, soakCount / 10) { size = await ProcessSize.atRest(asBefore: start) }
    }
    let late = await ProcessSize.atRest(asBefore: start)
    let early = try #require(size)
    try #require(early.isKnown)
    print("\(soakCount) times \(name): at a tenth \(early); at the end \(late)")
    #expect(failures == 0)
    #expect(late.owners == start.owners && late.tasks == start.tasks)
    #expect(late.descriptors <= early.descriptors)
    #expect(late.threads <= early.threads + 2)
    #expect(late.kilobytes <= early.kilobytes + early.kilobytes / 20 + 1_024)
  }
}

/// The resources of the system that this process uses.
struct ProcessSize: CustomStringConvertible {
  var kilobytes: Int
  var threads: Int
  var descriptors: Int
  var owners: Int
  var tasks: Int

  /// The size once the last small test is gone, which may still be on its way out on another
  /// thread.
  static func atRest(asBefore census: (owners: Int, tasks: Int)) async -> ProcessSize {
    for _ in 0..<1_000 where TaskOwnership.shared.census != census { await Task.yield() }
    return ProcessSize()
  }

  /// Whether the system shows the sizes. Without them, no growth would be seen.
  var isKnown: Bool { kilobytes > 0 && threads > 0 && descriptors > 0 }

  init() {
    func entries(_ path: String) -> Int {
      (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? 0
    }
    let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?
      .split(separator: " ").dropFirst().first.flatMap { Int($0) }
    kilobytes = (pages ?? 0) * sysconf(Int32(_SC_PAGESIZE)) / 1_024
    threads = entries("/proc/self/task")
    descriptors = entries("/proc/self/fd")
    (owners, tasks) = TaskOwnership.shared.census
  }

  var description: String {
    "\(kilobytes) KB, \(threads) threads, \(descriptors) descriptors, \(owners) owners, "
      + "\(tasks) tasks"
  }
}
