@testable import Clocks

/// A chooser that decides only what comes first.
extension Chooser {
  func draw(for task: UInt64, isNumber: Bool) -> UInt64? { nil }
  func stallLimit(of sleep: UInt64, task: UInt64) -> Duration? { nil }
  func stall(before position: Int) -> Duration? { nil }
  var mayStall: Bool { false }
  func choose(_ count: Int, for task: UInt64) -> Int { 0 }
  func faultStrikes(for task: UInt64) -> Bool { false }
  var isRunaway: Bool { false }
  var latestStep: String? { nil }
  func stepFails() {}
  var wantsDescriptions: Bool { false }
  func describe(_ text: String) {}
  func label(of task: UInt64, name: String?) -> String? { nil }
  func taskWasCreated(_ task: UInt64) {}
  func jobIsReady(_ job: ReadyJob, isFromOutside: Bool) {}
  func jobBegins(_ job: ReadyJob, at position: Int) {}
  func newRunaway() -> Runaway? { nil }
  func sleepBegins(_ number: UInt64, of task: UInt64) {}
  func timedCallbackWaits(_ number: UInt64, _ name: String) {}
  func sleepWakes(_ number: UInt64, of task: UInt64) {}
  func asked(_ question: TaskOwner.NondeterminismSource) {}
}
