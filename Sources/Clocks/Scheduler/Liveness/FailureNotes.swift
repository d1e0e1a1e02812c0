import ClocksSupport

// Notes that may explain a failure of a test. They are computed while the failure is being recorded.
extension Scheduler {
  /// Returns a note that may explain a failure of the test; `nil` if there is none.
  func noteOnFailure(afterTimeout isTimeout: Bool) -> String? {
    if let note = noteOnSkippedWait(afterTimeout: isTimeout) { return note }
    // The test may expect that sleeps which end at this instant have woken.
    let due = change { state in
      (state.scope.map { [$0.virtualClock] } ?? state.virtualClocks).map(\.dueLines)
    }
    let lines = due.flatMap { $0() }
    return lines.isEmpty ? nil : ScopeNote.dueSleeps(lines)
  }

  /// Returns a note for a failure of the test if there was a skipped external wait; else `nil`.
  ///
  /// - Parameter isTimeout: Whether the failure is a timeout. If so, a possible skipped external wait suffices.
  func noteOnSkippedWait(afterTimeout isTimeout: Bool) -> String? {
    if let found = change({ $0.scope?.skippedWait?.first }) {
      return ScopeNote.skippedWait(found.label, slept: found.jump.length, to: found.jump.end)
    }
    return isTimeout ? noteOnPossiblySkippedWait : nil
  }

  /// A note for a timeout of the test if there may have been a skipped external wait.
  ///
  /// `nil` if one was seen: then `noteOnSkippedWait` reports that one.
  ///
  /// The note names tasks that wait for a continuation since before a jump, or did so until they were cancelled.
  var noteOnPossiblySkippedWait: String? {
    guard change({ $0.scope?.skippedWait?.first }) == nil else { return nil }
    let waiting = dumpTasks().entries.filter {
      $0.sleep == nil && $0.task.state == .suspended && $0.task.dependency == .continuation
    }.map(\.task)
    let skipped = change { state -> [SkippedExternalWait.SkippedTask] in
      guard let work = state.scope?.skippedWait else { return [] }
      return work.cancelled
        + waiting.compactMap { task in
          work.jump(over: task.id).map { .init(task: task.id, name: task.name, jump: $0) }
        }
    }
    guard let longest = skipped.map(\.jump).max(by: { $0.length < $1.length }) else { return nil }
    return ScopeNote.possiblySkippedWait(
      skipped.map(\.label), slept: longest.length, to: longest.end)
  }

  /// Returns a note on a failure that XCTest records on this thread, by the failure's text; `nil` if there is none.
  static func noteOnXCTestFailure(_ text: String) -> String? {
    guard let scheduler = Scheduler.running, scheduler.scope?.options.isOneOfMany != true else {
      return nil
    }
    if let note = scheduler.noteOnFailure(afterTimeout: text.mentionsTimeout) { return note }
    guard scheduler.scope == nil else { return nil }
    let asleep = RealSleeps.lines(of: scheduler)
    return asleep.isEmpty ? nil : "Beside the test's clock, " + RealSleeps.note(asleep)
  }
}

extension String {
  /// Whether the text of an error mentions a timeout. Any module may define such errors.
  package var mentionsTimeout: Bool {
    let text = lowercased()
    return ["timeout", "timed out", "timedout", "deadline"].contains(where: text.contains)
  }
}
