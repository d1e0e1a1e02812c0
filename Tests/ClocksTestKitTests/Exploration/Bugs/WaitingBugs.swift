import Clocks

/// Tasks wait for each other, or for an event of the past.
extension KnownBug {
  private static func holding(
    _ first: TaskLock, _ second: TaskLock, _ work: () async -> Void
  ) async {
    await first.lock()
    await second.lock()
    await work()
    await second.unlock()
    await first.unlock()
  }

  private static func lockOrders(swapped: Bool) -> Operation {
    { _ in
      let (accounts, journal) = (TaskLock(), TaskLock())
      let booking = Task { await holding(accounts, journal) { await Task.yield() } }
      let report = Task {
        if swapped {
          await holding(journal, accounts) {}
        } else {
          await holding(accounts, journal) {}
        }
      }
      _ = await (booking.value, report.value)
    }
  }

  static let lockOrders = KnownBug(
    name: "lock orders", buggy: lockOrders(swapped: true), corrected: lockOrders(swapped: false))

  private static func philosophers(isLastLeftHanded: Bool) -> Operation {
    { _ in
      let forks = (0..<3).map { _ in TaskLock() }
      await withTaskGroup { group in
        for seat in 0..<3 {
          group.addTask {
            let (left, right) = (forks[seat], forks[(seat + 1) % 3])
            if isLastLeftHanded && seat == 2 {
              await holding(right, left) {}
            } else {
              await holding(left, right) {}
            }
          }
        }
      }
    }
  }

  static let philosophers = KnownBug(
    name: "philosophers", buggy: philosophers(isLastLeftHanded: false),
    corrected: philosophers(isLastLeftHanded: true))

  private actor Signal {
    private(set) var isSet = false
    private var waiter: CheckedContinuation<Void, Never>?

    func set() {
      isSet = true
      waiter?.resume()
      waiter = nil
    }

    /// Suspends without checking again.
    func sleepUntilSet() async { await withCheckedContinuation { waiter = $0 } }

    func wait() async {
      if !isSet { await sleepUntilSet() }
    }
  }

  private static func lostWakeUp(
    _ wait: @escaping @Sendable (Signal) async -> Void
  ) -> Operation {
    { _ in
      let signal = Signal()
      let consumer = Task { await wait(signal) }
      let producer = Task { await signal.set() }
      _ = await (consumer.value, producer.value)
    }
  }

  static let lostWakeUp = KnownBug(
    name: "lost wake-up",
    buggy: lostWakeUp { signal in
      let isSet = await signal.isSet
      log("is set: \(isSet)")
      if !isSet { await signal.sleepUntilSet() }
    },
    corrected: lostWakeUp { await $0.wait() })

  private actor Bus {
    private var subscribers: [AsyncStream<Int>.Continuation] = []

    func subscribe() -> AsyncStream<Int> {
      let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
      subscribers.append(continuation)
      return stream
    }

    func publish(_ event: Int) {
      for subscriber in subscribers { subscriber.yield(event) }
    }
  }

  static let lateSubscriber = KnownBug(
    name: "late subscriber",
    buggy: { _ in
      let bus = Bus()
      let first = Task {
        var events = await bus.subscribe().makeAsyncIterator()
        return await events.next()
      }
      let login = Task { await bus.publish(7) }
      await login.value
      try expect(await first.value == 7, "the login is seen")
    },
    corrected: { _ in
      let bus = Bus()
      let events = await bus.subscribe()
      let first = Task {
        var iterator = events.makeAsyncIterator()
        return await iterator.next()
      }
      let login = Task { await bus.publish(7) }
      await login.value
      try expect(await first.value == 7, "the login is seen")
    })

  private actor Worker {
    private var jobs: [Int] = []
    private var isClosed = false
    private(set) var done = 0

    var isOpen: Bool { !isClosed }
    func add(_ job: Int) { jobs.append(job) }
    func addIfOpen(_ job: Int) -> Bool {
      guard isOpen else { return false }
      add(job)
      return true
    }
    func close() {
      isClosed = true
      done += jobs.count
      jobs = []
    }
  }

  private static func shutdown(
    _ add: @escaping @Sendable (Worker) async -> Bool
  ) -> Operation {
    { _ in
      let worker = Worker()
      let client = Task { await add(worker) }
      let server = Task { await worker.close() }
      let isAccepted = await client.value
      await server.value
      try expect(await worker.done == (isAccepted ? 1 : 0), "accepted work is done")
    }
  }

  static let shutdown = KnownBug(
    name: "shutdown",
    buggy: shutdown { worker in
      guard await worker.isOpen else { return false }
      log("sending")
      await worker.add(1)
      return true
    },
    corrected: shutdown { await $0.addIfOpen(1) })

  private actor Journal {
    private(set) var lines: [Int] = []
    func write(_ line: Int) { lines.append(line) }
  }

  static let orderedQueue = KnownBug(
    name: "ordered queue",
    buggy: { _ in
      let journal = Journal()
      let writes = (0..<4).map { line in Task { await journal.write(line) } }
      for write in writes { await write.value }
      try expect(await journal.lines == [0, 1, 2, 3], "lines in order")
    },
    corrected: { _ in
      let journal = Journal()
      let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
      let writer = Task { for await line in stream { await journal.write(line) } }
      for line in 0..<4 { continuation.yield(line) }
      continuation.finish()
      await writer.value
      try expect(await journal.lines == [0, 1, 2, 3], "lines in order")
    })
}
