import ClocksSupport

extension TestClock {
  /// Records a failure if the current task is another test's.
  func checkUseByOtherTest(_ name: String, at callSite: CallSite) {
    guard let other = scheduler.schedulerOfOtherTest else { return }
    guard !useByOtherTestIsKnown.exchange(true, ordering: .relaxed) else { return }
    let pending = pendingSleeps.map(\.description)
    let failure =
      scheduler.hasTest
      ? ClockFailure.useByOtherTest(of: name, origin: origin, now: "\(now)", pending: pending)
      : ClockFailure.madeApart(
        name, origin: origin, other: other.report.origin, now: "\(now)", pending: pending)
    recordFailure(failure, at: callSite)
  }
}
