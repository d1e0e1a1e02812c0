import ClocksTestKit
import Testing

/// A file that imports only ClocksTestKit can use the scope of its test.
@Test(.virtualTime) func oneImportIsEnoughForTheScope() async throws {
  let time = try VirtualTime.required
  await time.advance(by: .seconds(1))
  #expect(time.now.offset == .seconds(1))
  #expect(time.now == .seconds(1))
}
