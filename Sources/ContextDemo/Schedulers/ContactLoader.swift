struct Contact: Hashable, Sendable {
  let name: String
  let number: String
}

/// Loads contacts from several sources concurrently and calls back when all have answered.
///
/// The loader decides how many queues it needs; the factory decides what kind of queues they are.
final class ContactLoader: Sendable {
  private let sources: [@Sendable () throws -> [Contact]]
  private let concurrent: any WorkScheduler
  private let serial: any WorkScheduler
  private let main: any WorkScheduler

  init(sources: [@Sendable () throws -> [Contact]], schedulers: any WorkSchedulerFactory) {
    self.sources = sources
    concurrent = schedulers.concurrent(named: "contacts.loading")
    serial = schedulers.serial(named: "contacts.merging")
    main = schedulers.main
  }

  /// Loads all contacts and calls `completion` once on the main queue.
  ///
  /// The result is either the contacts, sorted by name and without duplicates, or the first error.
  func load(completion: @escaping @Sendable (Result<[Contact], any Error>) -> Void) {
    let merge = Merge(missing: sources.count)
    guard !sources.isEmpty else { return main.schedule { completion(.success([])) } }
    for source in sources {
      concurrent.schedule { [serial, main] in
        let answer = Result { try source() }
        serial.schedule {
          guard let result = merge.add(answer) else { return }
          main.schedule { completion(result) }
        }
      }
    }
  }

  /// The contacts that have been loaded so far; used on the serial scheduler only.
  private final class Merge: @unchecked Sendable {
    private var missing: Int
    private var contacts: Set<Contact> = []

    init(missing: Int) {
      self.missing = missing
    }

    /// Adds the answer of a source. Returns the final result when it is known.
    func add(_ answer: Result<[Contact], any Error>) -> Result<[Contact], any Error>? {
      // `missing` is zero after an error, so later answers are ignored.
      guard missing > 0 else { return nil }
      do {
        contacts.formUnion(try answer.get())
        missing -= 1
        return missing == 0 ? .success(contacts.sortedByName) : nil
      } catch {
        missing = 0
        return .failure(error)
      }
    }
  }
}

/// Loads contacts from several sources concurrently: ``ContactLoader`` with Swift concurrency.
///
/// There is no scheduler to inject: a test controls every task.
struct ContactBook: Sendable {
  let sources: [@Sendable () async throws -> [Contact]]

  /// Returns all contacts, sorted by name and without duplicates.
  ///
  /// - Throws: The first error of a source; the other sources are cancelled.
  func contacts() async throws -> [Contact] {
    try await withThrowingTaskGroup { group in
      for source in sources { group.addTask(operation: source) }
      return try await group.reduce(into: Set()) { $0.formUnion($1) }.sortedByName
    }
  }
}

extension Set<Contact> {
  fileprivate var sortedByName: [Contact] { sorted { ($0.name, $0.number) < ($1.name, $1.number) } }
}
