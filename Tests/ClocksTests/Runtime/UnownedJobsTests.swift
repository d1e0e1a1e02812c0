import Dispatch
import Foundation
import Testing

@testable import Clocks

/// The threads of jobs that belong to no test.
@Suite struct UnownedJobsTests {
  /// Lives as long as the process, as its queue needs it.
  private static let jobs = UnownedJobs(priority: 21)

  /// As in the runtime, which has as many threads for the jobs of one priority as there are cores.
  @Test func asManyRunTogetherAsThereAreCores() async throws {
    let cores = ProcessInfo.processInfo.processorCount
    let begun = Tally()
    let mayEnd = DispatchSemaphore(value: 0)
    for _ in 0..<(cores * 2) {
      let task = try #require(
        UnstartedTask {
          begun.add()
          mayEnd.wait()
        })
      Self.jobs.submit(task.job, isCounted: false)
    }
    // Other tests use threads of Dispatch, too.
    while begun.value < cores { try await Task.sleep(for: .milliseconds(1)) }
    try await Task.sleep(for: .milliseconds(50))
    #expect(begun.value == cores)
    // A blockage was reported: now the others run, too.
    Self.jobs.useMoreThreads()
    while begun.value < cores * 2 { try await Task.sleep(for: .milliseconds(1)) }
    for _ in 0..<(cores * 2) { mayEnd.signal() }
  }
}
