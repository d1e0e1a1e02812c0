/// A person whom one can call.
struct Contact: Hashable, Sendable {
  let name: String
  let number: String
}

/// Loads contacts from several sources at once, and calls back when all have answered.
///
/// Which queues it needs, and how many, is its own business; what they are is that of whoever hands
/// it the factory.
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

  /// Loads all contacts, without duplicates and by name, and calls `completion` once, on the main
  /// queue, with them or with the first error.
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

  /// What has been loaded so far; to be touched on the serial scheduler only.
  private final class Merge: @unchecked Sendable {
    private var missing: Int
    private var contacts: Set<Contact> = []

    init(missing: Int) {
      self.missing = missing
    }

    /// Adds a source's answer, and returns the result if it is known now.
    func add(_ answer: Result<[Contact], any Error>) -> Result<[Contact], any Error>? {
      // After an error the rest is of no interest.
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

extension Set<Contact> {
  var sortedByName: [Contact] { sorted { ($0.name, $0.number) < ($1.name, $1.number) } }
}
