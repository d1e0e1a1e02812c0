/// Loads contacts with injected schedulers, and with a task group that needs none.
struct SchedulersScenario: Scenario {
  static let name = "schedulers"
  static let summary = "a contact loader with injected queues, and one with a task group"

  init(_ arguments: Arguments) throws(UsageError) {}

  private static let books: [[Contact]] = [
    [Contact(name: "Ada", number: "1815"), Contact(name: "Grace", number: "1906")],
    [Contact(name: "Grace", number: "1906"), Contact(name: "Barbara", number: "1939")],
  ]

  func run(in demo: DemoEnvironment) async throws {
    let factories: [(String, any WorkSchedulerFactory)] = [
      ("dispatch", DispatchSchedulers()), ("synchronous", SynchronousSchedulers()),
    ]
    for (name, schedulers) in factories {
      let sources = Self.books.map { book in { @Sendable in book } }
      let loader = ContactLoader(sources: sources, schedulers: schedulers)
      demo.log("caller", "asks a loader with \(name) schedulers")
      // On Apple's systems a scope of virtual time does not see work on dispatch queues, so time is held.
      try await holdingVirtualTime {
        let contacts = await withCheckedContinuation { continuation in
          loader.load { continuation.resume(returning: $0) }
        }
        demo.log("loader", try Self.describe(contacts.get()))
      }
    }

    demo.log("caller", "asks a book, whose sources take 0.1 s and 0.2 s")
    let sources = Self.books.enumerated().map { number, book in
      { @Sendable in
        try await demo.clock.sleep(for: .milliseconds(100 * (number + 1)))
        demo.log("source \(number + 1)", "answers")
        return book
      }
    }
    demo.log("book", Self.describe(try await ContactBook(sources: sources).contacts()))
  }

  private static func describe(_ contacts: [Contact]) -> String {
    "has " + contacts.map(\.name).joined(separator: ", ")
  }
}
