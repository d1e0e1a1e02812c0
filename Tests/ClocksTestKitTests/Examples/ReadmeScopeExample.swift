import ClocksTestKit
import Testing

@Test(.virtualTime) func aDayOfPolling() async throws {
  let poller = Task { for _ in 1...24 { try await Task.sleep(for: .seconds(3600)) } }
  let start = ContinuousClock.now
  try await poller.value
  #expect(ContinuousClock.now - start == .seconds(86_400))
}
