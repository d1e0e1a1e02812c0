import Clocks
import Foundation

/// The time of a model: how to sleep, and the present.
struct Times: Sendable {
  /// One unit of the model's time.
  let unit: Duration
  let sleep: @Sendable (Duration) async throws -> Void
  /// The time since the model began.
  let elapsed: @Sendable () -> Duration

  func sleep(units: Int) async throws { try await sleep(unit * units) }
}

/// The events of a model, with their times in units.
actor EventLog {
  private(set) var events: [String] = []
  private let times: Times

  init(_ times: Times) { self.times = times }

  func add(_ event: String) {
    // Real time is always a little late, and never early.
    events.append("\(Int(times.elapsed() / times.unit)) \(event)")
  }

  /// The events without their times.
  var names: [String] { events.map(nameOfEvent) }
}

private func nameOfEvent(_ event: String) -> String {
  String(event.drop { $0 != " " }.dropFirst())
}

/// Models of typical code that depends on time. Each logs its events.
enum Models: String, CaseIterable, Sendable {
  case retry, poll, rateLimit, session, debounce

  /// Whether the order of events is the same on a machine that is late: it does not depend on which of two sleeps ends
  /// first.
  var isCausal: Bool { self == .retry || self == .poll || self == .rateLimit }

  func run(_ times: Times, _ log: EventLog) async throws {
    switch self {
    case .retry: try await retry(times, log)
    case .poll: try await poll(times, log)
    case .rateLimit: try await rateLimit(times, log)
    case .session: try await session(times, log)
    case .debounce: try await debounce(times, log)
    }
  }

  /// The expected events without their times.
  var expectedNames: [String] { expected.map(nameOfEvent) }

  var expected: [String] {
    switch self {
    case .retry: ["0 try 1", "1 try 2", "4 try 3", "9 try 4", "9 connected"]
    case .poll: (0..<5).map { "\($0 * 3) pending" } + ["15 ready"]
    case .rateLimit: (0..<6).map { "\($0 / 2 * 4) request \($0)" }
    case .session: ["2 touch", "4 touch", "6 touch", "11 expired"]
    case .debounce: ["5 search abc", "12 search abcd"]
    }
  }

  /// A client that retries with exponential backoff and an injected jitter.
  private func retry(_ times: Times, _ log: EventLog) async throws {
    let jitter = [0, 1, 1]
    for attempt in 1... {
      await log.add("try \(attempt)")
      guard attempt < 4 else { break }
      try await times.sleep(units: 1 << (attempt - 1) + jitter[attempt - 1])
    }
    await log.add("connected")
  }

  /// A loop that polls until there is an answer.
  private func poll(_ times: Times, _ log: EventLog) async throws {
    for poll in 0... {
      if poll == 5 { return await log.add("ready") }
      await log.add("pending")
      try await times.sleep(units: 3)
    }
  }

  /// A limiter that permits two requests in four units.
  private func rateLimit(_ times: Times, _ log: EventLog) async throws {
    actor Limiter {
      private var tokens = 2
      private var waiting: [CheckedContinuation<Void, Never>] = []

      func acquire() async {
        if tokens > 0 {
          tokens -= 1
          return
        }
        await withCheckedContinuation { waiting.append($0) }
      }

      func refill() {
        tokens = 2
        while tokens > 0, !waiting.isEmpty {
          tokens -= 1
          waiting.removeFirst().resume()
        }
      }
    }
    let limiter = Limiter()
    let refills = Task {
      while true {
        try await times.sleep(units: 4)
        await limiter.refill()
      }
    }
    for request in 0..<6 {
      await limiter.acquire()
      await log.add("request \(request)")
    }
    refills.cancel()
  }

  /// A session that expires when it was not touched for five units.
  private func session(_ times: Times, _ log: EventLog) async throws {
    var expiry: Task<Void, any Error>?
    for touch in 0..<4 {
      expiry?.cancel()
      expiry = Task {
        try await times.sleep(units: 5)
        await log.add("expired")
      }
      guard touch < 3 else { break }
      try await times.sleep(units: 2)
      await log.add("touch")
    }
    try await expiry?.value
  }

  /// A search that begins when nothing was typed for three units.
  private func debounce(_ times: Times, _ log: EventLog) async throws {
    var pending: Task<Void, any Error>?
    var text = ""
    for (letter, pause) in [("a", 1), ("b", 1), ("c", 7), ("d", 10)] {
      text += letter
      pending?.cancel()
      pending = Task { [text] in
        try await times.sleep(units: 3)
        await log.add("search \(text)")
      }
      try await times.sleep(units: pause)
    }
    try await pending?.value
  }
}
