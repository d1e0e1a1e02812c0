import ClocksSupport

extension VirtualTime {
  /// Returns one of the options; in a search, the search decides which one.
  ///
  /// ```swift
  /// let size = time.choose(1...5)
  /// let reply = time.choose([Reply.accepted, .rejected, .late])
  /// ```
  ///
  /// A choice is a decision like the order of jobs. The search varies it, the token of a failure contains it,
  /// and a search that has tried all orders has also tried all options. A failure is shrunk to the earliest
  /// options with which it remains. So put the simplest option first, or the option with which a loop ends.
  ///
  /// Outside a search, the result is the first option. Callers that are not tasks of the scope also get the first
  /// option: threads, dispatch queues, and tasks of a scope within this one. May be called from any isolation. O(1).
  ///
  /// - Parameters:
  ///   - options: The options. If there are none, the program stops with an error at the line of the call.
  ///   - file: The file that is named if there are no options.
  ///   - line: The line that is named if there are no options.
  public func choose<C: RandomAccessCollection>(
    _ options: C, file: StaticString = #file, line: UInt = #line
  ) -> C.Element {
    let count = options.count
    guard count > 0 else {
      fatalError(
        """
        `choose` expects one option or more; this \(C.self) is empty. Check it before the call, or give it an option \
        that stands for none.
        """, file: file, line: line)
    }
    let index = scheduler.decide { $0.choose(count, for: $1) } ?? 0
    let option = options[options.index(options.startIndex, offsetBy: index)]
    if count > 1 { scheduler.describeDecision { "chose \(option) of \(Self.list(options))" } }
    return option
  }

  /// Returns whether a fault strikes; in a search, the search decides, up to `faults:` times in a schedule.
  ///
  /// ```swift
  /// func write(_ data: Data) throws {
  ///   if time.fault("disk full") { throw DiskError.full }
  ///   …
  /// ```
  ///
  /// With `@Test(.schedules(500, faults: 2))` at most two faults strike in each schedule. A failure is shrunk to as
  /// few faults as possible before anything else. Without `faults:`, no fault strikes.
  ///
  /// Outside a search, the result is `false`. Callers that are not tasks of the scope also get `false`: threads,
  /// dispatch queues, and tasks of a scope within this one. May be called from any isolation. O(1).
  ///
  /// - Parameter name: The name of the fault in the explanation of a failure.
  public func fault(_ name: String) -> Bool {
    guard scheduler.decide({ $0.faultStrikes(for: $1) }) == true else { return false }
    scheduler.describeDecision { "fault \"\(name)\"" }
    return true
  }

  /// Lets the search interrupt the current job here: other jobs may run before the rest of it.
  ///
  /// Use checkpoints in your own lock, or another primitive: without them, a step runs from one `await` to
  /// the next. Put a checkpoint before the lock is taken and after it is released. Wait for the lock by
  /// trying:
  ///
  /// ```swift
  /// func withLock<R>(_ body: () -> R) -> R {
  ///   time.checkpoint("lock")
  ///   while !lock.try() { time.checkpoint("locked") }
  ///   defer { time.checkpoint("unlocked") }
  ///   defer { lock.unlock() }
  ///   return body()
  /// }
  /// ```
  ///
  /// The job's thread waits while other jobs run on another thread, so the job keeps its actor, its locks and its
  /// task-local values. Meanwhile, no other job of that actor runs. If the job runs on the main thread, no other job of
  /// the main thread runs either. The job may hold a lock. Another job, or the condition of an invariant, must try that
  /// lock and not wait for it. Otherwise the test is blocked, and a blockage is reported. The rest of the job is the
  /// task's next step: it has a name like `a.4`. Invariants are not checked at a checkpoint, because the job may hold a
  /// lock that they take.
  ///
  /// If the search abandons a schedule that does not end, the rest of the job does not run. Its thread waits until the
  /// process ends. Only on the main thread does the job continue, because other tests need that thread.
  ///
  /// Outside a search, for a caller that is not a task of the scope, and on an executor of your own, the function does
  /// nothing. O(1) if no other job is ready; otherwise a change of threads.
  ///
  /// - Parameter name: The name of the point in the explanation of a failure.
  public func checkpoint(_ name: String) { scheduler.checkpoint(name) }

  /// For example `1…5`, or `a, b, c`.
  private static func list<C: RandomAccessCollection>(_ options: C) -> String {
    guard options.count > 3 else { return options.map { "\($0)" }.joined(separator: ", ") }
    return "\(options.first!)…\(options.last!)"
  }
}
