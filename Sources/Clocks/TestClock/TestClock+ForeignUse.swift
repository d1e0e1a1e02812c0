extension TestClock {
  /// Records a failure if the current task is another test's.
  func checkForeignUse(_ name: String, at callSite: CallSite) {
    guard scheduler.isCurrentTaskForeign else { return }
    guard !foreignUseIsKnown.exchange(true, ordering: .relaxed) else { return }
    recordFailure(
      ClockFailure.foreignUse(
        of: name, origin: origin, now: "\(now)", pending: pendingSleeps.map(\.description)),
      at: callSite)
  }
}
