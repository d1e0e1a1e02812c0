// The hooks alone, built from the package's files for a runtime that the package does not support:
// `Scripts/older-runtimes hooks 6.0`. Prints the self-test, and shows that tasks still run.

import Dispatch
import Glibc

// What the hooks use of the rest of the package.

extension SchedulingSelfTest {
  func warnOfWhatIsMissing() {}
}

enum UsageFailure {
  static func reportToTests() {}
}

final class ThreadWaits: Sendable {
  static let ofXCTest: ThreadWaits? = nil
  static let ofAnyKind: ThreadWaits? = nil
  func runInnerLoop(_ seconds: Double, _ run: (Double) -> Int32) -> Int32 { run(seconds) }
}

enum ThreadRunLoops {
  static func redirect() {}
}

enum TestLibraries {
  static let missing: [String] = []
}

setvbuf(stdout, nil, _IONBF, 0)

actor Counter {
  var count = 0
  func increment() { count += 1 }
}

let selfTest = SchedulerCapability.selfTest
print(selfTest)
for _ in 0..<1000 { precondition(SchedulingSelfTest(HookStrategy(rawValue: selfTest.strategy)!) == selfTest) }

Task.detached {
  let counter = Counter()
  for _ in 0..<1000 {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<10 {
        group.addTask {
          await counter.increment()
          await Task.yield()
          await MainActor.run {
            MainActor.preconditionIsolated()
            dispatchPrecondition(condition: .onQueue(.main))
          }
        }
      }
    }
  }
  let count = await counter.count
  precondition(count == 10_000)
  let start = ContinuousClock.now
  try await Task.sleep(for: .milliseconds(20))
  try await Task.sleep(nanoseconds: 20_000_000)
  try await SuspendingClock().sleep(for: .milliseconds(20))
  precondition(ContinuousClock.now - start >= .milliseconds(60))
  let sleeper = Task { try await Task.sleep(for: .seconds(1_000_000)) }
  sleeper.cancel()
  if case .success = await sleeper.result { fatalError("a cancelled sleep has not thrown") }
  print("10,000 tasks, main actor jobs and yields, 4 sleeps: as they should be")
  exit(0)
}
dispatchMain()
