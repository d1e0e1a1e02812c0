import ClocksTestKit
import Testing

@Suite(.enabled(if: runsSamples)) struct EverywhereTraitSamples {
  @Test(.virtualTime) func hasItsOwnScope() async throws {
    try await Task.sleep(for: .seconds(3600))
  }

  @Test func losesAContinuation() async {
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
  }
}
