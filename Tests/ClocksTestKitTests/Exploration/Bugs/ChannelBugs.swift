import Clocks

/// Bugs of Go programs, from the study GoBench (Yuan et al., CGO 2021), with channels and locks of tasks.
///
/// Each names the kernel in GoBench. "After" marks a bug of the same component that differs from the kernel.
extension KnownBug {
  static let ofChannels: [KnownBug] = [
    .statusManager, .finishRequest, .nodeStatus, .healthMonitor, .tokenKeeper, .remoteLock,
    .resetChannel, .keepalive, .poller, .containerStats, .breaker, .quiesce,
  ]

  /// kubernetes 10182: a sender holds the lock that the receiver takes between two receives.
  private static func statusManager(isLockedToSend: Bool) -> Operation {
    { _ in
      let (lock, channel) = (TaskLock(), Channel())
      let sync = Task(name: "sync") {
        for _ in 0..<2 {
          _ = await channel.receive()
          await lock.lock()
          await lock.unlock()
        }
      }
      let senders = (0..<2).map { number in
        Task(name: "sender \(number)") {
          await lookUp(6 * number)
          await lock.lock()
          if !isLockedToSend { await lock.unlock() }
          await channel.send(number)
          if isLockedToSend { await lock.unlock() }
        }
      }
      for sender in senders { await sender.value }
      await sync.value
    }
  }

  static let statusManager = KnownBug(
    name: "status manager", buggy: statusManager(isLockedToSend: true),
    corrected: statusManager(isLockedToSend: false))

  /// kubernetes 5316: a request that was given up leaves its worker at a channel that has no receiver.
  private static func finishRequest(capacity: Int) -> Operation {
    { _ in
      let (answers, givenUp) = (Channel(capacity: capacity), Cell(false))
      let worker = Task(name: "worker") { await answers.send(1) }
      let user = Task(name: "user") {
        await lookUp(3)
        await givenUp.set(true)
      }
      let request = Task(name: "request") {
        if await !givenUp.value { _ = await answers.receive() }
      }
      for task in [worker, user, request] { await task.value }
    }
  }

  static let finishRequest = KnownBug(
    name: "request given up", buggy: finishRequest(capacity: 0),
    corrected: finishRequest(capacity: 1))

  /// etcd 6857: a status is requested from a node that has just stopped.
  private static func nodeStatus(answersAfterStop: Bool) -> Operation {
    { _ in
      let (requests, stop) = (Channel(), Cell(false))
      let node = Task(name: "node") {
        while let request = await requests.receive() {
          if request == 0 { break }
        }
        await stop.set(true)
        if answersAfterStop { await requests.close() }
      }
      let client = Task(name: "client") {
        if await !stop.value { await requests.send(1) }
      }
      let owner = Task(name: "owner") {
        await lookUp(4)
        await requests.send(0)
      }
      for task in [node, client, owner] { await task.value }
    }
  }

  static let nodeStatus = KnownBug(
    name: "status of a stopped node", buggy: nodeStatus(answersAfterStop: false),
    corrected: nodeStatus(answersAfterStop: true))

  /// moby 28462: the task that stops the monitor holds the lock that the monitor takes for each check.
  private static func healthMonitor(stopsUnderLock: Bool) -> Operation {
    { _ in
      let (lock, stop) = (TaskLock(), Channel())
      let monitor = Task(name: "monitor") {
        await lock.lock()
        log("healthy")
        await lock.unlock()
        _ = await stop.receive()
      }
      let owner = Task(name: "owner") {
        await lookUp(2)
        await lock.lock()
        if !stopsUnderLock { await lock.unlock() }
        await stop.send(0)
        if stopsUnderLock { await lock.unlock() }
      }
      for task in [monitor, owner] { await task.value }
    }
  }

  static let healthMonitor = KnownBug(
    name: "health monitor", buggy: healthMonitor(stopsUnderLock: true),
    corrected: healthMonitor(stopsUnderLock: false))

  /// etcd 7492: tokens are added under a lock that their keeper takes when its timer ticks.
  private static func tokenKeeper(capacity: Int) -> Operation {
    { _ in
      let (lock, added) = (TaskLock(), Channel(capacity: capacity))
      let keeper = Task(name: "keeper") {
        var count = 0
        while count < 2 {
          if await added.receive() != nil { count += 1 }
          try? await Task.sleep(for: .seconds(1))
          await lock.lock()
          await lock.unlock()
        }
      }
      let users = (0..<2).map { number in
        Task(name: "user \(number)") {
          try? await Task.sleep(for: .seconds(number))
          await lookUp(number * 3)
          await lock.lock()
          await added.send(number)
          await lock.unlock()
        }
      }
      for task in users + [keeper] { await task.value }
    }
  }

  static let tokenKeeper = KnownBug(
    name: "token keeper", buggy: tokenKeeper(capacity: 0), corrected: tokenKeeper(capacity: 2))

  private actor Locks {
    private(set) var locks: [String: TaskLock] = [:]
    func lock(for url: String) -> TaskLock {
      let lock = locks[url] ?? TaskLock()
      locks[url] = lock
      return lock
    }
    func forget(_ url: String) { locks[url] = nil }
  }

  /// After hugo 3251 (locks by address, in a table): a lock is removed while another task waits for it.
  private static func remoteLock(forgets: Bool) -> Operation {
    { _ in
      let (locks, inside, most) = (Locks(), Cell(0), Cell(0))
      let fetches = (0..<3).map { number in
        Task(name: "fetch \(number)") {
          await lookUp(number * 9)
          let lock = await locks.lock(for: "url")
          await lock.lock()
          let count = await inside.change {
            $0 += 1
            return $0
          }
          await most.change { $0 = max($0, count) }
          await inside.change { $0 -= 1 }
          if forgets { await locks.forget("url") }
          await lock.unlock()
        }
      }
      for fetch in fetches { await fetch.value }
      try expect(await most.value == 1, "one fetch at a time")
    }
  }

  static let remoteLock = KnownBug(
    name: "lock that is forgotten", buggy: remoteLock(forgets: true),
    corrected: remoteLock(forgets: false))

  /// After kubernetes 6632: the writer resets a timer through a channel whose reader has left with an error.
  private static func resetChannel(offers: Bool) -> Operation {
    { _ in
      let (reset, failed) = (Channel(), Cell(false))
      let reader = Task(name: "reader") {
        for _ in 0..<2 {
          if await failed.value { return }
          log("no error")
          _ = await reset.receive()
        }
      }
      let writer = Task(name: "writer") {
        for number in 0..<2 {
          if await failed.value { return }
          log("writing")
          if offers { _ = await reset.offer(number) } else { await reset.send(number) }
        }
        if offers { await reset.close() }
      }
      let network = Task(name: "network") {
        await lookUp(10)
        await failed.set(true)
        if offers { await reset.close() }
      }
      for task in [reader, writer, network] { await task.value }
    }
  }

  static let resetChannel = KnownBug(
    name: "reset of a timer", buggy: resetChannel(offers: false),
    corrected: resetChannel(offers: true))

  private actor Transport {
    private var isDormant = false
    private var streams = 0
    private var waiter: UnsafeContinuation<Void, Never>?
    var hasStreams: Bool { streams > 0 }
    func open() {
      streams += 1
      if isDormant { wake() }
    }
    func sleep() async {
      isDormant = true
      await withUnsafeContinuation { waiter = $0 }
    }
    func sleepIfUnused() async { if streams == 0 { await sleep() } }
    private func wake() {
      isDormant = false
      waiter?.resume()
      waiter = nil
    }
  }

  /// After grpc-go 1460 (in which a lock is held, too): a stream that opens does not wake keepalive, which has just
  /// looked for streams.
  private static func keepalive(_ sleep: @escaping @Sendable (Transport) async -> Void) -> Operation
  {
    { _ in
      let transport = Transport()
      let stream = Task(name: "stream") { await transport.open() }
      let keepalive = Task(name: "keepalive") {
        await lookUp(2)
        await sleep(transport)
      }
      for task in [stream, keepalive] { await task.value }
    }
  }

  static let keepalive = KnownBug(
    name: "dormant keepalive",
    buggy: keepalive { transport in
      let isUsed = await transport.hasStreams
      log("is used: \(isUsed)")
      if !isUsed { await transport.sleep() }
    },
    corrected: keepalive { await $0.sleepIfUnused() })

  /// After kubernetes 70277: a poller that is told to stop has one more tick to deliver.
  private static func poller(capacity: Int) -> Operation {
    { _ in
      let (ticks, isDone) = (Channel(capacity: capacity), Cell(false))
      let source = Task(name: "source") {
        for number in 0..<3 {
          if await isDone.value { return }
          log("tick")
          await ticks.send(number)
        }
      }
      let condition = Task(name: "condition") {
        for _ in 0..<3 { _ = await ticks.receive() }
        await isDone.set(true)
      }
      let owner = Task(name: "owner") {
        await lookUp(14)
        await isDone.set(true)
        await ticks.close()
      }
      for task in [source, condition, owner] { await task.value }
      try expect(await isDone.value, "the poller ends")
    }
  }

  static let poller = KnownBug(
    name: "last tick",
    buggy: { _ in
      let (ticks, isDone) = (Channel(), Cell(false))
      let source = Task(name: "source") {
        if await !isDone.value {
          log("tick")
          await ticks.send(1)
        }
      }
      let condition = Task(name: "condition") {
        if await !isDone.value {
          log("waiting")
          _ = await ticks.receive()
        }
      }
      let owner = Task(name: "owner") {
        await lookUp(5)
        await isDone.set(true)
      }
      for task in [source, condition, owner] { await task.value }
    }, corrected: poller(capacity: 3))

  /// After moby 33293: an error is sent to a receiver that has left.
  private static func containerStats(capacity: Int) -> Operation {
    { _ in
      let (errors, isStopped) = (Channel(capacity: capacity), Cell(false))
      let daemon = Task(name: "daemon") {
        await lookUp(1)
        if await isStopped.value { await errors.send(1) }
      }
      let stop = Task(name: "stop") {
        await lookUp(4)
        await isStopped.set(true)
      }
      for task in [daemon, stop] { await task.value }
    }
  }

  static let containerStats = KnownBug(
    name: "error without a receiver", buggy: containerStats(capacity: 0),
    corrected: containerStats(capacity: 1))

  /// After knative serving 2137: each of two requests holds one of two tokens that the other one needs.
  private static func breaker(inOneOrder: Bool) -> Operation {
    { _ in
      let tokens = [TaskLock(), TaskLock()]
      let requests = (0..<2).map { number in
        Task(name: "request \(number)") {
          await lookUp(5 * number)
          let first = inOneOrder ? 0 : number
          await tokens[first].lock()
          await tokens[1 - first].lock()
          await tokens[1 - first].unlock()
          await tokens[first].unlock()
        }
      }
      for request in requests { await request.value }
    }
  }

  static let breaker = KnownBug(
    name: "breaker", buggy: breaker(inOneOrder: false), corrected: breaker(inOneOrder: true))

  private actor Stopper {
    private(set) var isDraining = false
    private(set) var count = 0
    private(set) var ranWhileDrained = false
    func begin() { count += 1 }
    func beginIfOpen() -> Bool {
      if isDraining { return false }
      count += 1
      return true
    }
    func run() { if isDraining && count == 1 { ranWhileDrained = drained } }
    func end() { count -= 1 }
    private var drained = false
    func drain() {
      isDraining = true
      drained = count == 0
    }
  }

  /// After cockroach 1055: a task begins while the stopper drains, after it has found that none runs.
  private static func quiesce(_ begin: @escaping @Sendable (Stopper) async -> Bool) -> Operation {
    { _ in
      let stopper = Stopper()
      let work = Task(name: "work") {
        if await begin(stopper) {
          await stopper.run()
          await stopper.end()
        }
      }
      let stop = Task(name: "stop") {
        await lookUp(3)
        await stopper.drain()
      }
      for task in [work, stop] { await task.value }
      try expect(await !stopper.ranWhileDrained, "nothing runs after the drain")
    }
  }

  static let quiesce = KnownBug(
    name: "quiesce",
    buggy: quiesce { stopper in
      guard await !stopper.isDraining else { return false }
      log("open")
      await stopper.begin()
      return true
    },
    corrected: quiesce { await $0.beginIfOpen() })
}
