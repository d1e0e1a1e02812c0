import Testing

@testable import TimeoutTask

/// A deadline governs only the tasks that it is certain to cancel.
@Suite struct ActiveDeadlineTests {
  @Test func aDeadlineGovernsTheAddressFromTheRuntime() async {
    let deadline = ActiveDeadline(inside: nil)
    await deadline.governing {
      #expect(ActiveDeadline.placeOfInnermost != nil)
      #expect(deadline.governs(ActiveDeadline.placeOfInnermost))
      #expect(ActiveDeadline.current === deadline)
    }
    #expect(ActiveDeadline.current === nil)
  }

  @Test func aDeadlineGovernsNothingWithoutAnAddress() {
    #expect(!ActiveDeadline(inside: nil).governs(nil))
  }
}
