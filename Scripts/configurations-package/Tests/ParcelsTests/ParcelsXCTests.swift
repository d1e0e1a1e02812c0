import Clocks
import Parcels
import XCTest

final class ParcelsXCTests: XCTestCase {
  private let clock = TestClock()

  func testAnAdvance() async {
    let depot = Depot()
    let deliveries = Task { [clock] in try await deliver(every: .seconds(60), to: depot, on: clock) }
    for minute in 1...20 {
      await clock.advance(by: .seconds(60))
      let parcels = await depot.parcels
      XCTAssertEqual(parcels, 10 * minute)
    }
    deliveries.cancel()
  }

  func testAScope() async throws {
    try await withVirtualTime { time in
      try await Task.sleep(for: .seconds(5))
      XCTAssertEqual(time.now, .init(offset: .seconds(5)))
    }
  }
}
