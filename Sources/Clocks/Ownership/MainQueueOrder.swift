/// Keeps a test's jobs of the main actor and its blocks of the main queue in one order.
///
/// In plain Swift, both are blocks of one queue, first in, first out. Here the scheduler runs the jobs, and Dispatch
/// runs the blocks. So a job begins only after the blocks that were submitted earlier have ended. A block is passed to
/// Dispatch only after the jobs that became ready earlier have begun. A job that runs holds the main thread, so
/// Dispatch runs the block after it.
///
/// The scheduler's lock guards it.
final class MainQueueOrder {
  private struct WaitingBlock {
    let number: UInt64
    /// The value of `begunJobs` from which the block is submitted.
    let earlierJobs: Int
    let submit: @Sendable () -> Void
  }

  /// The blocks that were submitted and have not ended.
  private var submitted: Set<UInt64> = []
  private var waiting: [WaitingBlock] = []
  private var begunJobs = 0
  /// The job that ran at the last call of `submitIfHeld`.
  private var lastJob: UInt64?

  /// Whether jobs that become ready are behind blocks.
  var areBlocksAhead: Bool { !submitted.isEmpty }

  /// Submits a block, now or after the jobs that are ready.
  ///
  /// `submit` calls Dispatch, which runs no block on the current thread.
  func blockIsReady(_ number: UInt64, behind jobs: Int, _ submit: @escaping @Sendable () -> Void) {
    waiting.append(WaitingBlock(number: number, earlierJobs: begunJobs + jobs, submit: submit))
    submitWaiting { $0.earlierJobs == begunJobs }
  }

  func jobBegins() {
    begunJobs += 1
    submitWaiting { $0.earlierJobs == begunJobs }
  }

  func blockEnds(_ number: UInt64) { submitted.remove(number) }

  /// Submits all blocks: the jobs before them may never begin, or Dispatch is about to submit a later block.
  func submitAll() { submitWaiting { _ in true } }

  /// Submits all blocks if a job has held its thread since the last call. It may wait for one of them.
  func submitIfHeld(by job: UInt64?) {
    if job != nil, job == lastJob { submitAll() }
    lastJob = job
  }

  /// Lets jobs begin although blocks that were submitted have not ended.
  func abandonBlocks() { submitted = [] }

  private func submitWaiting(while isDue: (WaitingBlock) -> Bool) {
    let due = waiting.prefix(while: isDue)
    guard !due.isEmpty else { return }
    waiting.removeFirst(due.count)
    for block in due {
      submitted.insert(block.number)
      block.submit()
    }
  }
}
