import Clocks
import Testing

/// In a file of its own, the other module has its usual name.
@Suite struct TheOthersTests {
  @Test func theOthersIsTheOthers() {
    #expect(TestClock().origin == "the other package")
  }
}
