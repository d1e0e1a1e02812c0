import ClocksSupport

extension VirtualTime {
  /// Returns one of the options; in a search, the search decides which one.
  ///
  /// ```swift
  /// let size = time.choose(1...5)
  /// let reply = time.choose([Reply.accepted, .rejected, .late])
  /// ```
  ///
  /// A choice is a decision like the order of jobs: the search varies it, the token of a failure contains it, and
  /// "all of them" counts it. A failure is shrunk to the earliest options with which it remains, so put the
  /// simplest option first, and the one with which a loop ends.
  ///
  /// Outside a search the result is the first option. It is the first as well for a caller that is no task of the
  /// scope: a thread, a dispatch queue, or a task in a scope within this one. May be called from any isolation. O(1).
  ///
  /// - Parameters:
  ///   - options: The options. If there are none, the program stops, with the place of the call.
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
    scheduler.describeDecision { "chose \(option) of \(Self.list(options))" }
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
  /// Outside a search the result is `false`. It is `false` as well for a caller that is no task of the scope: a
  /// thread, a dispatch queue, or a task in a scope within this one. May be called from any isolation. O(1).
  ///
  /// - Parameter name: The name of the fault in the explanation of a failure.
  public func fault(_ name: String) -> Bool {
    guard scheduler.decide({ $0.faultStrikes(for: $1) }) == true else { return false }
    scheduler.describeDecision { "fault \"\(name)\"" }
    return true
  }

  /// For example `1…5`, or `a, b, c`.
  private static func list<C: RandomAccessCollection>(_ options: C) -> String {
    guard options.count > 3 else { return options.map { "\($0)" }.joined(separator: ", ") }
    return "\(options.first!)…\(options.last!)"
  }
}

extension Scheduler {
  /// Asks the chooser for a decision in the current task; `nil` if the current thread runs no job of an explored
  /// scope.
  fileprivate func decide<Result>(_ ask: (any Chooser, UInt64) -> Result) -> Result? {
    guard isExplored, isInOwnJob, let task = UnownedTask.currentID else { return nil }
    return change { state in state.order.chooser.map { ask($0, task) } }
  }

  /// Notes the decision that `decide` has just asked for, if a report or a recording needs it.
  ///
  /// The text is made without the lock, because it calls the user's code.
  fileprivate func describeDecision(_ text: () -> String) {
    let isRecorded = recorder != nil
    guard isRecorded || isExplored, isInOwnJob else { return }
    let isWanted = isExplored && change { $0.order.chooser?.wantsDescriptions == true }
    guard isRecorded || isWanted else { return }
    let text = text()
    recorder?.mark(text)
    if isWanted { change { $0.order.chooser?.describe(text) } }
  }

  /// Whether the current thread runs a job of this scheduler, which no other job of it does meanwhile.
  fileprivate var isInOwnJob: Bool {
    guard let context = ThreadContext.current else { return false }
    return context.pointee.isInJob && context.pointee.runsJob(of: self)
  }
}
