/// A loader of contacts on injected schedulers, and its counterpart that needs none.
struct SchedulersScenario: Scenario {
  static let name = "schedulers"
  static let summary = "a loader of contacts whose queues come from a factory, or are not needed"

  init(_ arguments: Arguments) throws(UsageError) {}

  private static let books: [[Contact]] = [
    [Contact(name: "Ada", number: "1815"), Contact(name: "Grace", number: "1906")],
    [Contact(name: "Grace", number: "1906"), Contact(name: "Barbara", number: "1939")],
  ]

  func play(on stage: Stage) async throws {
    let factories: [(String, any WorkSchedulerFactory)] = [
      ("dispatch", DispatchSchedulers()), ("synchronous", SynchronousSchedulers()),
    ]
    for (name, schedulers) in factories {
      let sources = Self.books.map { book in { @Sendable in book } }
      let loader = ContactLoader(sources: sources, schedulers: schedulers)
      stage.log("caller", "asks a loader with \(name) schedulers")
      // Dispatch queues are not ours to see.
      try await outside {
        let contacts = await withCheckedContinuation { continuation in
          loader.load { continuation.resume(returning: $0) }
        }
        stage.log("loader", try Self.describe(contacts.get()))
      }
    }

    stage.log("caller", "asks a book, whose sources take 0.1 s and 0.2 s")
    let sources = Self.books.enumerated().map { number, book in
      { @Sendable in
        try await stage.clock.sleep(for: .milliseconds(100 * (number + 1)))
        stage.log("source \(number + 1)", "answers")
        return book
      }
    }
    stage.log("book", Self.describe(try await ContactBook(sources: sources).contacts()))
  }

  private static func describe(_ contacts: [Contact]) -> String {
    "has " + contacts.map(\.name).joined(separator: ", ")
  }
}
