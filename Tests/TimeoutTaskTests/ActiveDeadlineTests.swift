import Testing

@testable import TimeoutTask

/// A deadline is taken for granted only by a task that it is certain to cancel.
@Suite struct ActiveDeadlineTests {
  @Test func governsThePlaceThatTheRuntimeNames() async {
    let deadline = ActiveDeadline(inside: nil)
    await deadline.governing {
      #expect(ActiveDeadline.placeOfInnermost != nil)
      #expect(deadline.governs(ActiveDeadline.placeOfInnermost))
      #expect(ActiveDeadline.current === deadline)
    }
    #expect(ActiveDeadline.current === nil)
  }

  @Test func governsNothingWhereTheRuntimeNamesNoPlace() {
    #expect(!ActiveDeadline(inside: nil).governs(nil))
  }
}
