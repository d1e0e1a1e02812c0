import Foundation

/// A folder that exists as long as this does.
final class TemporaryFolder: Sendable {
  let url = FileManager.default.temporaryDirectory
    .appendingPathComponent("ContextDemoTests-\(UUID().uuidString)")

  deinit { try? FileManager.default.removeItem(at: url) }
}
