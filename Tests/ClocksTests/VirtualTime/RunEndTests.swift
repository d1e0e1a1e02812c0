import Testing

@testable import Clocks

@Suite struct RunEndTests {
  private struct Failed: Error {}

  @Test func theErrorOfAnOperationIsKnown() {
    let end = RunEnd()
    #expect(end.knownError == nil)
    end.note(Failed())
    end.finish(isAbandoned: false)
    #expect(end.knownError is Failed)
  }

  /// Otherwise the result would depend on how soon the thread continues that the operation has held.
  @Test func anErrorAfterTheOperationWasAbandonedIsIgnored() {
    let end = RunEnd()
    end.finish(isAbandoned: true)
    end.note(Failed())
    #expect(end.knownError == nil)
  }
}
