import Clocks
import Testing

/// The module of the other package keeps its name.
@Suite struct OtherPackageTests {
  @Test func clocksIsTheOtherPackage() {
    #expect(TestClock().origin == "the other package")
  }
}
