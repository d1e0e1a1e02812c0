import Clocks

/// Deep bugs of waiting tasks: the wrong task is woken, or all tasks wait for each other.
extension KnownBug {
  /// A buffer with one condition for tasks that wait for room and for tasks that wait for a value.
  private actor Monitor {
    private let wakesAll: Bool
    private var isFull = false
    private var waiters: [UnsafeContinuation<Void, Never>] = []
    init(wakesAll: Bool) { self.wakesAll = wakesAll }

    private func wait() async { await withUnsafeContinuation { waiters.append($0) } }

    private func pulse() {
      let count = wakesAll ? waiters.count : min(1, waiters.count)
      let woken = waiters.prefix(count)
      waiters.removeFirst(count)
      for waiter in woken { waiter.resume() }
    }

    func put() async {
      while isFull { await wait() }
      isFull = true
      pulse()
    }

    func take() async {
      while !isFull { await wait() }
      isFull = false
      pulse()
    }
  }

  /// Cargill's bounded buffer (Coyote, Samples/BoundedBuffer; Shuttle, tests/demo/bounded_buffer.rs): a reader wakes
  /// a reader in place of the writer.
  private static func boundedMonitor(wakesAll: Bool) -> Operation {
    { _ in
      let buffer = Monitor(wakesAll: wakesAll)
      let writer = Task(name: "writer") {
        for number in 0..<2 {
          log("value \(number)")
          await buffer.put()
        }
      }
      let readers = (1...2).map { number in
        Task(name: "reader \(number)") {
          await lookUp(4 * number)
          await buffer.take()
        }
      }
      for task in readers + [writer] { await task.value }
    }
  }

  static let boundedMonitor = KnownBug(
    name: "bounded monitor", buggy: boundedMonitor(wakesAll: false),
    corrected: boundedMonitor(wakesAll: true))

  /// A lock for many readers or one writer, in which a writer that waits keeps new readers out.
  private actor SharedLock {
    private var (readers, isWriting) = (0, false)
    private var waitingWriters: [UnsafeContinuation<Void, Never>] = []
    private var waitingReaders: [UnsafeContinuation<Void, Never>] = []

    func lockShared() async {
      if isWriting || !waitingWriters.isEmpty {
        return await withUnsafeContinuation { waitingReaders.append($0) }
      }
      readers += 1
    }

    func lock() async {
      if isWriting || readers > 0 {
        return await withUnsafeContinuation { waitingWriters.append($0) }
      }
      isWriting = true
    }

    func unlockShared() {
      readers -= 1
      if readers == 0 { next() }
    }

    func unlock() {
      isWriting = false
      next()
    }

    private func next() {
      if !waitingWriters.isEmpty {
        isWriting = true
        return waitingWriters.removeFirst().resume()
      }
      readers += waitingReaders.count
      for reader in waitingReaders { reader.resume() }
      waitingReaders = []
    }
  }

  /// GoBench, kubernetes 58107: a consumer keeps a read lock while it waits for its producer.
  ///
  /// The writer waits for that lock, and the producer, which needs a read lock, too, waits for the writer.
  private static func readersQueue(keepsLock: Bool) -> Operation {
    { _ in
      let (lock, elements) = (SharedLock(), Channel(capacity: 1))
      let producer = Task(name: "producer") {
        await lock.lockShared()
        await elements.send(1)
        await lock.unlockShared()
      }
      let sync = Task(name: "sync") {
        await lookUp(5)
        await lock.lock()
        await lock.unlock()
      }
      let consumer = Task(name: "consumer") {
        await lookUp(9)
        await lock.lockShared()
        if !keepsLock { await lock.unlockShared() }
        _ = await elements.receive()
        if keepsLock { await lock.unlockShared() }
      }
      for task in [producer, sync, consumer] { await task.value }
    }
  }

  static let readersQueue = KnownBug(
    name: "queue under a read lock", buggy: readersQueue(keepsLock: true),
    corrected: readersQueue(keepsLock: false))

  /// Dijkstra's dining philosophers ("Hierarchical Ordering of Sequential Processes", 1971), one after the other.
  ///
  /// Each has to take the first fork before its neighbour takes the second one.
  private static func lateForks(_ count: Int, isLastLeftHanded: Bool) -> Operation {
    { _ in
      let forks = (0..<count).map { _ in TaskLock() }
      let philosophers = (0..<count).map { seat in
        Task(name: "philosopher \(seat)") {
          await lookUp(4 * seat)
          var (first, second) = (seat, (seat + 1) % count)
          if isLastLeftHanded, seat == count - 1 { swap(&first, &second) }
          await forks[first].lock()
          await forks[second].lock()
          await forks[second].unlock()
          await forks[first].unlock()
        }
      }
      for philosopher in philosophers { await philosopher.value }
    }
  }

  static let lateForks = KnownBug(
    name: "three late philosophers", buggy: lateForks(3, isLastLeftHanded: false),
    corrected: lateForks(3, isLastLeftHanded: true))

  static let manyLateForks = KnownBug(
    name: "four late philosophers", buggy: lateForks(4, isLastLeftHanded: false),
    corrected: lateForks(4, isLastLeftHanded: true))

  /// Coyote, Samples/WebApps/PetImagesAspNet, third scenario: the thumbnail is that of an earlier image.
  private static func thumbnail(readsAgain: Bool) -> Operation {
    { _ in
      let (image, thumbnail) = (Cell("none"), Cell("none"))
      let updates = ["dog", "cat"].enumerated().map { number, content in
        Task(name: content) {
          await lookUp(8 * number)
          await image.set(content)
          // Stands for the worker that scales the image.
          let worker = Task(name: "worker of the \(content)") {
            await lookUp(2)
            if !readsAgain { return await thumbnail.set(content) }
            while true {
              let newest = await image.value
              log(newest)
              await thumbnail.set(newest)
              if await image.value == newest { return }
            }
          }
          await worker.value
        }
      }
      for update in updates { await update.value }
      let shown = await thumbnail.value
      try expect(await image.value == shown, "the thumbnail is that of the image")
    }
  }

  static let thumbnail = KnownBug(
    name: "thumbnail of another image", buggy: thumbnail(readsAgain: false),
    corrected: thumbnail(readsAgain: true))

  private actor Receivers {
    private var waiting: [Int: UnsafeContinuation<Bool, Never>] = [:]
    private var cancelled: Set<Int> = []
    private let remembers: Bool
    init(remembers: Bool) { self.remembers = remembers }

    func receive(_ id: Int) async -> Bool {
      if cancelled.contains(id) { return false }
      return await withUnsafeContinuation { waiting[id] = $0 }
    }
    func cancel(_ id: Int) {
      if let waiter = waiting.removeValue(forKey: id) {
        waiter.resume(returning: false)
      } else if remembers {
        cancelled.insert(id)
      }
    }
  }

  /// swift-async-algorithms, pull request 80: a cancellation that comes before its receiver waits is lost.
  private static func cancelledReceiver(remembers: Bool) -> Operation {
    { _ in
      let receivers = Receivers(remembers: remembers)
      let receiver = Task(name: "receiver") {
        await lookUp(1)
        _ = await receivers.receive(1)
      }
      let canceller = Task(name: "canceller") {
        await lookUp(3)
        await receivers.cancel(1)
      }
      for task in [receiver, canceller] { await task.value }
    }
  }

  static let cancelledReceiver = KnownBug(
    name: "cancelled receiver",
    buggy: cancelledReceiver(remembers: false), corrected: cancelledReceiver(remembers: true))
}
