/// Loads contacts from several sources at once: what ``ContactLoader`` is today.
///
/// There is no scheduler to inject, because there is nothing to replace: a test sees every task.
struct ContactBook: Sendable {
  let sources: [@Sendable () async throws -> [Contact]]

  /// All contacts, without duplicates and by name.
  ///
  /// - Throws: The first error of a source; the others are cancelled.
  func contacts() async throws -> [Contact] {
    try await withThrowingTaskGroup { group in
      for source in sources { group.addTask(operation: source) }
      return try await group.reduce(into: Set()) { $0.formUnion($1) }.sortedByName
    }
  }
}
