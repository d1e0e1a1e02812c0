import Clocks

/// Bugs that occur if one task is late. Some follow samples of Coyote; those without a source are typical mistakes.
extension KnownBug {
  static let ofLateTasks: [KnownBug] = [
    .tornRead, .lateDelete, .failureDetector, .twoLeaders, .lateNotify, .doubleRelease,
    .refCount, .seqlock, .lateCancel, .retryAfterSuccess, .staleRefresh,
    .evictedEntry, .unsubscribed, .lastValue, .batchFlush, .migration, .ticket, .handover,
    .undoneUndo, .expiredLease, .lateHeartbeat,
    .halfRefund,
  ]

  /// A reader that sees a part of a write, because it reads a pair in two turns.
  private static func tornRead(_ read: @escaping @Sendable (Cell<[Int]>) async -> [Int])
    -> Operation
  {
    { _ in
      let pair = Cell([0, 0])
      let reader = Task(name: "reader") { await read(pair) }
      let writer = Task(name: "writer") {
        await lookUp(2)
        await pair.change {
          $0[0] = 1
          $0[1] = 1
        }
      }
      let seen = await reader.value
      await writer.value
      try expect(seen[0] == seen[1], "both or none")
    }
  }

  static let tornRead = KnownBug(
    name: "torn read",
    buggy: tornRead { pair in
      let first = await pair.value[0]
      log("\(first)")
      return [first, await pair.value[1]]
    },
    corrected: tornRead { await $0.value })

  /// After Coyote, ImageGalleryAspNet, TestConcurrentAccountAndImageRequests: an account is deleted during an upload.
  private static func lateDelete(
    _ upload: @escaping @Sendable (Cell<[String: Int]>) async -> Void
  ) -> Operation {
    { _ in
      let images = Cell(["ada": 0])
      let user = Task(name: "upload") { await upload(images) }
      let owner = Task(name: "delete") {
        await lookUp(2)
        await images.change { $0["ada"] = nil }
      }
      await user.value
      await owner.value
      try expect(await images.value["ada"] == nil, "a deleted account has no images")
    }
  }

  static let lateDelete = KnownBug(
    name: "upload to a deleted account",
    buggy: lateDelete { images in
      guard let count = await images.value["ada"] else { return }
      log("\(count)")
      await images.change { $0["ada"] = count + 1 }
    },
    corrected: lateDelete { images in
      await images.change { if let count = $0["ada"] { $0["ada"] = count + 1 } }
    })

  /// After Coyote, Samples/Monitors, a failure detector: an answer that comes while its round is evaluated.
  private static func failureDetector(_ late: Duration) -> Operation {
    { _ in
      let (alive, suspected) = (Cell(false), Cell(false))
      let node = Task(name: "node") {
        try? await Task.sleep(for: .seconds(1))
        await alive.set(true)
      }
      let detector = Task(name: "detector") {
        try? await Task.sleep(for: late)
        if await !alive.value { await suspected.set(true) }
      }
      await node.value
      await detector.value
      try expect(await !suspected.value, "a node that answers in time is not suspected")
    }
  }

  static let failureDetector = KnownBug(
    name: "failure detector", buggy: failureDetector(.seconds(1)),
    corrected: failureDetector(.milliseconds(1_001)))

  private actor Election {
    private(set) var leaders: Set<Int> = []
    private(set) var term = 0
    var hasLeader: Bool { !leaders.isEmpty }
    func lead(_ node: Int) { leaders.insert(node) }
    func leadIfFree(_ node: Int) { if leaders.isEmpty { lead(node) } }
  }

  /// After Coyote, Samples/CloudMessaging, "more than one leader in term": neither candidate sees the other lead.
  private static func twoLeaders(
    _ lead: @escaping @Sendable (Election, Int) async -> Void
  ) -> Operation {
    { _ in
      let election = Election()
      let nodes = (0..<3).map { node in
        Task(name: "node \(node)") {
          await lookUp(node * 4)
          await lead(election, node)
        }
      }
      for node in nodes { await node.value }
      try expect(await election.leaders.count == 1, "one leader")
    }
  }

  static let twoLeaders = KnownBug(
    name: "two leaders",
    buggy: twoLeaders { election, node in
      let isLed = await election.hasLeader
      log("\(isLed)")
      if !isLed { await election.lead(node) }
    },
    corrected: twoLeaders { await $0.leadIfFree($1) })

  private actor Gate {
    private(set) var isOpen = false
    private var waiter: UnsafeContinuation<Void, Never>?
    func open() { isOpen = true }
    func notify() {
      waiter?.resume()
      waiter = nil
    }
    func openAndNotify() {
      open()
      notify()
    }
    func wait() async {
      if isOpen { return }
      await withUnsafeContinuation { waiter = $0 }
    }
  }

  /// After loom, tests/condvar.rs, in the other order: the flag is set after the notification.
  private static func lateNotify(_ open: @escaping @Sendable (Gate) async -> Void) -> Operation {
    { _ in
      let gate = Gate()
      let opener = Task(name: "opener") { await open(gate) }
      let waiter = Task(name: "waiter") {
        await lookUp(3)
        await gate.wait()
      }
      await opener.value
      await waiter.value
    }
  }

  static let lateNotify = KnownBug(
    name: "flag after its notification",
    buggy: lateNotify { gate in
      await gate.notify()
      log("notified")
      await gate.open()
    },
    corrected: lateNotify { await $0.openAndNotify() })

  /// A permit that is released by a timeout and by its user.
  private static func doubleRelease(
    _ release: @escaping @Sendable (Cell<Bool>, Cell<Int>) async -> Void
  ) -> Operation {
    { _ in
      let (isReleased, permits) = (Cell(false), Cell(0))
      let user = Task(name: "user") { await release(isReleased, permits) }
      let timeout = Task(name: "timeout") {
        await lookUp(3)
        await release(isReleased, permits)
      }
      await user.value
      await timeout.value
      try expect(await permits.value == 1, "one permit is released")
    }
  }

  static let doubleRelease = KnownBug(
    name: "double release",
    buggy: doubleRelease { isReleased, permits in
      if await isReleased.value { return }
      log("not released")
      await isReleased.set(true)
      await permits.change { $0 += 1 }
    },
    corrected: doubleRelease { isReleased, permits in
      let isFirst = await isReleased.change { isReleased in
        defer { isReleased = true }
        return !isReleased
      }
      if isFirst { await permits.change { $0 += 1 } }
    })

  /// The last reference is dropped while another one is taken.
  private static func refCount(
    _ retain: @escaping @Sendable (Cell<Int>) async -> Bool
  ) -> Operation {
    { _ in
      let (count, isFreed, failed) = (Cell(1), Cell(false), Cell(false))
      let taker = Task(name: "taker") {
        guard await retain(count) else { return }
        if await isFreed.value { await failed.set(true) }
      }
      let owner = Task(name: "owner") {
        await lookUp(3)
        if await count.change({
          $0 -= 1
          return $0
        }) == 0 {
          await isFreed.set(true)
        }
      }
      await taker.value
      await owner.value
      try expect(await !failed.value, "a referenced object is not freed")
    }
  }

  static let refCount = KnownBug(
    name: "reference count",
    buggy: refCount { count in
      guard await count.value > 0 else { return false }
      log("alive")
      await count.change { $0 += 1 }
      return true
    },
    corrected: refCount { count in
      await count.change { count in
        guard count > 0 else { return false }
        count += 1
        return true
      }
    })
}
