/// What was chosen for a scope of virtual time; `withVirtualTime` says what each of them means.
struct ScopeOptions: Sendable {
  var autoAdvance = true
  var jumpsAfter: Duration?
  var leftoverSleeps = VirtualTime.LeftoverSleeps.cancel
  var stuckAfter: Duration = .seconds(5)
  var freezesDate = true
  /// How much real time an operation may keep time from jumping while nothing but sleeps is left.
  var heldFor = Watchdog.shared.limit
  var limits = RunawayLimits()
}
