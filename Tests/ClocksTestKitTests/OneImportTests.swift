import ClocksTestKit
import Testing

/// A file that imports only ClocksTestKit can use the scope of its test.
@Test(.virtualTime) func oneImportIsEnoughForTheScope() async throws {
  let time: VirtualTime = try #require(.current)
  await time.advance(by: .seconds(1))
  #expect(time.now.offset == .seconds(1))
}
