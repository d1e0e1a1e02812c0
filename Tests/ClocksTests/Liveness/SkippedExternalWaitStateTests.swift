import Testing

@testable import Clocks

/// A task that was suspended before time jumped, and that something outside makes ready.
@Suite struct SkippedExternalWaitStateTests {
  var work = SkippedExternalWait()

  @Test mutating func whoRanBeforeTheJumpHasSleptThroughIt() {
    work.jobBegins(of: 1, at: .zero)
    work.timeJumps(to: .seconds(1))
    work.jobBegins(of: 2, at: .seconds(1))
    work.timeJumps(to: .seconds(30))
    #expect(work.jump(over: 1) == .init(start: .zero, end: .seconds(30)))
    #expect(work.jump(over: 2) == .init(start: .seconds(1), end: .seconds(30)))
    #expect(work.jump(over: 2)?.length == .seconds(29))
  }

  @Test mutating func whoHasRunSinceHasNot() {
    work.jobBegins(of: 1, at: .zero)
    work.timeJumps(to: .seconds(30))
    work.jobBegins(of: 1, at: .seconds(30))
    #expect(work.jump(over: 1) == nil)
  }

  @Test mutating func nothingIsKnownOfStrangersNorBeforeAJump() {
    work.jobBegins(of: 1, at: .zero)
    #expect(work.jump(over: 1) == nil)
    work.timeJumps(to: .seconds(30))
    #expect(work.jump(over: 2) == nil)
  }

  /// An actor's queue may have run any of them.
  @Test mutating func nothingIsCertainOnceAQueueHasRunSince() {
    work.jobBegins(of: 1, at: .zero)
    work.jobBegins(of: 0, at: .zero)
    work.timeJumps(to: .seconds(30))
    #expect(work.jump(over: 1) != nil)
    work.jobBegins(of: 0, at: .seconds(30))
    #expect(work.jump(over: 1) == nil)
    work.timeJumps(to: .seconds(31))
    #expect(work.jump(over: 1)?.length == .seconds(31))
  }

  @Test mutating func theFirstIsKept() {
    work.jobBegins(of: 1, at: .zero)
    work.arrives(1, name: "too early")
    #expect(work.first == nil)
    work.timeJumps(to: .seconds(30))
    work.arrives(2, name: "a stranger")
    #expect(work.first == nil)
    work.arrives(1, name: "fetch")
    work.jobBegins(of: 1, at: .seconds(30))
    work.timeJumps(to: .seconds(40))
    work.arrives(1, name: "later")
    let jump = SkippedExternalWait.Jump(start: .zero, end: .seconds(30))
    #expect(work.first == .init(task: 1, name: "fetch", jump: jump))
  }

  @Test mutating func whoIsForgottenIsNotKnown() {
    work.jobBegins(of: 1, at: .zero)
    work.jobBegins(of: 2, at: .zero)
    work.timeJumps(to: .seconds(30))
    work.forget(1)
    work.forget(258)
    #expect(work.jump(over: 1) == nil)
    #expect(work.jump(over: 2) != nil)
  }

  /// Each has a place, and there are 256 of them.
  @Test mutating func whoHasLostItsPlaceIsNotKnown() {
    for task in 1...257 { work.jobBegins(of: UInt64(task), at: .zero) }
    work.timeJumps(to: .seconds(30))
    #expect(work.jump(over: 1) == nil)
    #expect(work.jump(over: 2) != nil)
    #expect(work.jump(over: 257) != nil)
  }
}
