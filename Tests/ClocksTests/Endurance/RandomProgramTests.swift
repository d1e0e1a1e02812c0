import Foundation
import Testing

@testable import Clocks

/// Random programs run as the semantics say, job for job, in every setting of the scheduler.
///
/// Two environment variables:
/// - `CLOCKS_TESTS_OPERATIONS`: the number of operations in all settings together. The default takes some hundredths
///   of a second for each setting. 1,000,000 take about 15 seconds. Each test case runs at least one program.
/// - `CLOCKS_SEED`: the first seed of the programs, in each setting. The default is 1, so that every run of the suite
///   runs the same programs. A failure names the seed of its program.
@Suite struct RandomProgramTests {
  private static let portions = 8
  private static let stepsInProgram = 60

  private let operations: Int
  private let firstSeed: UInt64

  init() throws {
    func text(_ variable: String) -> String? {
      ProcessInfo.processInfo.environment[variable].flatMap { $0.isEmpty ? nil : $0 }
    }
    let operations = text("CLOCKS_TESTS_OPERATIONS") ?? "24000"
    self.operations = try #require(
      Environment.count(from: operations),
      "CLOCKS_TESTS_OPERATIONS is \"\(operations)\", but can only be a number, 1 or more.")
    // The library checks this variable when the process starts.
    let seed = text("CLOCKS_SEED") ?? "1"
    firstSeed =
      seed == "random"
      ? UInt64(UInt32.random(in: 1 ... .max)) : try #require(Environment.seed(from: seed))
  }

  @Test(arguments: Program.Setting.allCases, 0..<portions)
  func aProgramDoesWhatTheModelSays(_ setting: Program.Setting, _ portion: Int) async {
    let share = operations / (Self.portions * Program.Setting.allCases.count)
    // Each portion has its own range of seeds, which is the same in all settings. So if the seed of a failure is given
    // as the first seed, portion 0 runs the failing program in every setting.
    var seed = firstSeed &+ UInt64(portion) << 32
    var done = 0
    repeat {
      let program = Program.random(seed: seed, size: Self.stepsInProgram)
      if let mismatch = await mismatch(program, in: setting, patience: 600) {
        await report(program, mismatch, in: setting)
        return
      }
      done += program.stepNumbers.count
      seed &+= 1
    } while done < share
  }

  /// A failing program is shortened to the steps that it needs to fail.
  @Test(arguments: 1...20 as ClosedRange<UInt64>) func aProgramIsShortened(_ seed: UInt64) async {
    let program = Program.random(seed: seed, size: Self.stepsInProgram)
    let numbers = program.stepNumbers
    let culprits = Set([1, 3, 8].map { numbers[$0 * numbers.count / 10] })
    let shortest = await program.shortened { culprits.isSubset(of: $0.stepNumbers) }
    #expect(culprits.isSubset(of: shortest.stepNumbers))
    for number in shortest.stepNumbers {
      #expect(!culprits.isSubset(of: shortest.removing([number]).stepNumbers))
    }
    #expect(shortest.description.hasPrefix("seed \(seed)\n"))
  }

  /// Returns the difference between two runs of the program and the model, or `nil`.
  private func mismatch(
    _ program: Program, in setting: Program.Setting, patience: Double
  ) async -> String? {
    let model = ModelMachine(in: setting).run(program)
    for way in Program.Way.allCases {
      var log = await unlessItHangs(seconds: patience) { await program.run(in: setting, way) }
      guard log != nil else { return "the run \(way) hangs" }
      if way == .unobserved { log?.jobs = model.jobs }
      guard let log, log != model else { continue }
      return "the run \(way):\n"
        + (difference("event", log.events, model.events)
          ?? difference("job", log.jobs, model.jobs) ?? "")
    }
    return nil
  }

  private func difference<Element: Equatable>(
    _ name: String, _ found: [Element], _ expected: [Element]
  ) -> String? {
    guard found != expected else { return nil }
    let count = zip(found, expected).prefix { $0 == $1 }.count
    func excerpt(_ list: [Element]) -> String {
      let rest = list[count...].prefix(5).map { "\n    \($0)" }.joined()
      return rest.isEmpty ? "\n    nothing" : rest
    }
    return """
        the first \(count) \(name)s are as the model says; then come\(excerpt(found))
        but the model says\(excerpt(expected))
      """
  }

  private func report(
    _ program: Program, _ mismatch: String, in setting: Program.Setting
  ) async {
    let shortest = await program.shortened(attempts: mismatch.contains("hangs") ? 20 : 2_000) {
      await self.mismatch($0, in: setting, patience: 20) != nil
    }
    let reason = await self.mismatch(shortest, in: setting, patience: 20) ?? mismatch
    Issue.record(
      """
      A random program in the setting "\(setting)" does not do what the model says: \(reason)
      Shortened to \(shortest.stepNumbers.count) of \(program.stepNumbers.count) steps: \(shortest)
      """)
  }
}
