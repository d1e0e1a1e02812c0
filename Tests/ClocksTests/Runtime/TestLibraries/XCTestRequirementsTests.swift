#if os(Linux)
  import Testing

  @testable import Clocks

  /// XCTest calls an observer by the positions of the requirements, so an unknown XCTest gets none.
  @Suite struct XCTestRequirementsTests {
    @Test func theRequirementsAreAsExpectedHere() {
      #expect(XCTestRequirements.areAsExpected)
      #expect(XCTestFailures.missing == [])
    }

    @Test func anotherOrderIsNoticed() async {
      await #expect(processExitsWith: .success) {
        for (one, other) in [(0, 6), (1, 5), (2, 4)] {
          XCTestRequirements.names.swapAt(one, other)
          #expect(!XCTestRequirements.areAsExpected)
          XCTestRequirements.names.swapAt(one, other)
        }
        #expect(XCTestRequirements.areAsExpected)
      }
    }

    @Test func anotherNumberIsNoticed() async {
      await #expect(processExitsWith: .success) {
        XCTestRequirements.names.removeLast()
        #expect(!XCTestRequirements.areAsExpected)
      }
    }

    @Test func anotherTypeIsListedAndNothingIsObserved() async {
      await #expect(processExitsWith: .success) {
        XCTestRequirements.names[4] = "$s6XCTest0A11ObservationPAAE17testCaseDidFinishyySSF"
        #expect(XCTestFailures.missing == ["which test of XCTest runs, and its failures"])
        #expect(!XCTestFailures.isObserved)
      }
    }
  }
#endif
