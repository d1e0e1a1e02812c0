import Clocks

/// Bugs in which one late task writes or reads what another task is about to change.
extension KnownBug {
  /// A sequence lock (Boehm, "Can Seqlocks Get Along with Programming Language Memory Models?", 2012), whose reader
  /// does not read the number again.
  private static func seqlock(checksAgain: Bool) -> Operation {
    { _ in
      let (number, data) = (Cell(0), [Cell(0), Cell(0)])
      let reader = Task(name: "reader") { () -> [Int] in
        while true {
          let before = await number.value
          if before % 2 == 1 {
            await Task.yield()
            continue
          }
          let first = await data[0].value
          log("\(first)")
          let second = await data[1].value
          if !checksAgain { return [first, second] }
          if await number.value == before { return [first, second] }
        }
      }
      let writer = Task(name: "writer") {
        await lookUp(4)
        await number.change { $0 += 1 }
        for cell in data { await cell.set(7) }
        await number.change { $0 += 1 }
      }
      let seen = await reader.value
      await writer.value
      try expect(seen[0] == seen[1], "a consistent pair")
    }
  }

  static let seqlock = KnownBug(
    name: "sequence lock", buggy: seqlock(checksAgain: false), corrected: seqlock(checksAgain: true)
  )

  /// A cancellation that comes after the result was taken, and before it is noted.
  private static func lateCancel(
    _ complete: @escaping @Sendable (Cell<[String]>) async -> Void
  ) -> Operation {
    { _ in
      let events = Cell<[String]>([])
      let work = Task(name: "work") { await complete(events) }
      let cancel = Task(name: "cancel") {
        await lookUp(3)
        await events.change { if !$0.contains("completed") { $0.append("cancelled") } }
      }
      await work.value
      await cancel.value
      try expect(await events.value.count == 1, "completed or cancelled")
    }
  }

  static let lateCancel = KnownBug(
    name: "cancelled and completed",
    buggy: lateCancel { events in
      guard await !events.value.contains("cancelled") else { return }
      log("completing")
      await events.change { $0.append("completed") }
    },
    corrected: lateCancel { events in
      await events.change { if !$0.contains("cancelled") { $0.append("completed") } }
    })

  /// A retry that is due while its first attempt has just succeeded.
  private static func retryAfterSuccess(_ delay: Duration) -> Operation {
    { _ in
      let (isDone, orders) = (Cell(false), Cell(0))
      let first = Task(name: "first") {
        try? await Task.sleep(for: .seconds(2))
        await orders.change { $0 += 1 }
        await isDone.set(true)
      }
      let retry = Task(name: "retry") {
        try? await Task.sleep(for: delay)
        await lookUp(2)
        if await !isDone.value { await orders.change { $0 += 1 } }
      }
      await first.value
      await retry.value
      try expect(await orders.value == 1, "one order")
    }
  }

  static let retryAfterSuccess = KnownBug(
    name: "retry after success", buggy: retryAfterSuccess(.seconds(2)),
    corrected: retryAfterSuccess(.seconds(3)))

  /// A refresh begins before a change, and stores its outdated value after the change.
  private static func staleRefresh(checksVersion: Bool) -> Operation {
    { _ in
      let (server, shown, version) = (Cell(1), Cell(1), Cell(0))
      let refresh = Task(name: "refresh") {
        let before = await version.value
        let value = await server.value
        log("\(value)")
        await shown.set(value)
        if checksVersion, await version.value != before { await shown.set(await server.value) }
      }
      let edit = Task(name: "edit") {
        await lookUp(4)
        await server.set(2)
        await version.set(1)
        await shown.set(2)
      }
      await refresh.value
      await edit.value
      try expect(await shown.value == 2, "the edit is shown")
    }
  }

  static let staleRefresh = KnownBug(
    name: "stale refresh", buggy: staleRefresh(checksVersion: false),
    corrected: staleRefresh(checksVersion: true))

  /// An entry that is evicted between the check that it exists and its use.
  private static func evictedEntry(
    _ read: @escaping @Sendable (Cell<[String: Int]>) async -> Int?
  ) -> Operation {
    { _ in
      let cache = Cell(["cat": 1])
      let reader = Task(name: "reader") { await read(cache) }
      let evictor = Task(name: "evictor") {
        await lookUp(3)
        await cache.change { $0 = [:] }
      }
      let value = await reader.value
      await evictor.value
      try expect(value != nil, "an entry or its replacement")
    }
  }

  static let evictedEntry = KnownBug(
    name: "evicted entry",
    buggy: evictedEntry { cache in
      if await cache.value["cat"] == nil { return 1 }
      log("it is there")
      return await cache.value["cat"]
    },
    corrected: evictedEntry { await $0.value["cat"] ?? 1 })

  /// An event that is delivered to a list of subscribers after one of them has left.
  private static func unsubscribed(
    _ deliver: @escaping @Sendable (Cell<Set<Int>>, Cell<Int>) async -> Void
  )
    -> Operation
  {
    { _ in
      let (subscribers, afterLeaving) = (Cell<Set<Int>>([1, 2]), Cell(0))
      let publisher = Task(name: "publisher") { await deliver(subscribers, afterLeaving) }
      let leaver = Task(name: "leaver") {
        await lookUp(3)
        await subscribers.change { _ = $0.remove(2) }
      }
      await publisher.value
      await leaver.value
      try expect(await afterLeaving.value == 0, "none who has left is told")
    }
  }

  static let unsubscribed = KnownBug(
    name: "told after leaving",
    buggy: unsubscribed { subscribers, count in
      let known = await subscribers.value
      for subscriber in known.sorted() {
        log("\(subscriber)")
        if await !subscribers.value.contains(subscriber) { await count.change { $0 += 1 } }
      }
    },
    corrected: unsubscribed { subscribers, count in
      for subscriber in [1, 2] where await subscribers.value.contains(subscriber) {
        log("\(subscriber)")
      }
    })

  /// A value that is replaced while its observer is being told of the one before.
  private static func lastValue(_ tell: @escaping @Sendable (Cell<Int>, Int) async -> Void)
    -> Operation
  {
    { _ in
      let screen = Cell(0)
      let first = Task(name: "first") {
        await tell(screen, 1)
      }
      let second = Task(name: "second") {
        await lookUp(1)
        await tell(screen, 2)
      }
      await first.value
      await second.value
      try expect(await screen.value == 2, "the last value is on the screen")
    }
  }

  static let lastValue = KnownBug(
    name: "values overtake", buggy: lastValue { await $0.set($1) },
    corrected: lastValue { screen, value in await screen.change { $0 = max($0, value) } })

  /// A batch that is emptied after it was sent, together with what was added meanwhile.
  private static func batchFlush(_ flush: @escaping @Sendable (Cell<[Int]>) async -> [Int])
    -> Operation
  {
    { _ in
      let (batch, sent) = (Cell([1, 2]), Cell<[Int]>([]))
      let flusher = Task(name: "flusher") { await sent.set(await flush(batch)) }
      let writer = Task(name: "writer") {
        await lookUp(3)
        await batch.change { $0.append(3) }
      }
      await flusher.value
      await writer.value
      let (left, gone) = await (batch.value, sent.value)
      try expect(left.count + gone.count == 3, "each event is sent or kept")
    }
  }

  static let batchFlush = KnownBug(
    name: "batch that is emptied",
    buggy: batchFlush { batch in
      let events = await batch.value
      log("\(events.count)")
      await batch.set([])
      return events
    },
    corrected: batchFlush { batch in
      await batch.change { batch in
        defer { batch = [] }
        return batch
      }
    })

  /// A migration that copies a record which is written in the old place meanwhile.
  private static func migration(isLocked: Bool) -> Operation {
    { _ in
      let (lock, old, new, usesNew) = (TaskLock(), Cell(1), Cell(0), Cell(false))
      let migrator = Task(name: "migrator") {
        if isLocked { await lock.lock() }
        let value = await old.value
        log("\(value)")
        await new.set(value)
        await usesNew.set(true)
        if isLocked { await lock.unlock() }
      }
      let writer = Task(name: "writer") {
        await lookUp(6)
        if isLocked { await lock.lock() }
        if await usesNew.value { await new.set(2) } else { await old.set(2) }
        if isLocked { await lock.unlock() }
      }
      await migrator.value
      await writer.value
      try expect(await new.value == 2, "the write is not lost")
    }
  }

  static let migration = KnownBug(
    name: "write during a migration", buggy: migration(isLocked: false),
    corrected: migration(isLocked: true))

  /// A ticket that two late buyers get, because the count is read before the payment.
  private static func ticket(_ buy: @escaping @Sendable (Cell<Int>) async -> Bool) -> Operation {
    { _ in
      let left = Cell(1)
      let buyers = (0..<2).map { number in
        Task(name: "buyer \(number)") {
          await lookUp(number * 6)
          return await buy(left)
        }
      }
      var sold = 0
      for buyer in buyers where await buyer.value { sold += 1 }
      try expect(sold == 1, "one ticket, one buyer")
    }
  }

  static let ticket = KnownBug(
    name: "last ticket",
    buggy: ticket { left in
      let count = await left.value
      guard count > 0 else { return false }
      await lookUp(1)
      await left.set(count - 1)
      return true
    },
    corrected: ticket { left in
      await left.change { left in
        guard left > 0 else { return false }
        left -= 1
        return true
      }
    })

  /// A connection that is handed over while its old owner still uses it.
  private static func handover(waits: Bool) -> Operation {
    { _ in
      let (users, most, isReturned) = (Cell(0), Cell(0), Cell(false))
      @Sendable func use() async {
        let count = await users.change {
          $0 += 1
          return $0
        }
        await most.change { $0 = max($0, count) }
        await users.change { $0 -= 1 }
      }
      let first = Task(name: "first") {
        await use()
        await isReturned.set(true)
      }
      let second = Task(name: "second") {
        if waits { await first.value } else { await lookUp(7) }
        await use()
      }
      await first.value
      await second.value
      try expect(await most.value == 1, "one user at a time")
    }
  }

  static let handover = KnownBug(
    name: "connection in two hands", buggy: handover(waits: false), corrected: handover(waits: true)
  )

  /// An undo that restores what it has read before a later edit.
  private static func undoneUndo(_ undo: @escaping @Sendable (Cell<[Int]>) async -> Void)
    -> Operation
  {
    { _ in
      let edits = Cell([1, 2])
      let undoing = Task(name: "undo") { await undo(edits) }
      let typing = Task(name: "typing") {
        await lookUp(3)
        await edits.change { $0.append(3) }
      }
      await undoing.value
      await typing.value
      try expect(await edits.value.contains(3), "what was typed stays")
    }
  }

  static let undoneUndo = KnownBug(
    name: "undo of a later edit",
    buggy: undoneUndo { edits in
      let before = await edits.value
      log("\(before.count)")
      await edits.set(Array(before.dropLast()))
    },
    corrected: undoneUndo { edits in await edits.change { $0.removeAll { $0 == 2 } } })

  /// A holder writes after its lease has passed to another one (Kleppmann, "How to do distributed locking", 2016).
  private static func expiredLease(
    _ write: @escaping @Sendable (Cell<[Int]>, Int) async -> Void
  ) -> Operation {
    { _ in
      // The holder of the lease, and who has written last.
      let state = Cell([1, 0])
      let first = Task(name: "first") {
        guard await state.value[0] == 1 else { return }
        log("it holds the lease")
        await write(state, 1)
      }
      let second = Task(name: "second") {
        await lookUp(3)
        await state.change { $0[0] = 2 }
        await write(state, 2)
      }
      await first.value
      await second.value
      try expect(await state.value[1] == 2, "the last holder has written last")
    }
  }

  static let expiredLease = KnownBug(
    name: "expired lease",
    buggy: expiredLease { state, holder in await state.change { $0[1] = holder } },
    corrected: expiredLease { state, holder in
      await state.change { if $0[0] == holder { $0[1] = holder } }
    })

  /// A heartbeat that is counted after its peer has said goodbye.
  private static func lateHeartbeat(
    _ beat: @escaping @Sendable (Cell<[String]>) async -> Void
  ) -> Operation {
    { _ in
      let events = Cell<[String]>([])
      let heart = Task(name: "heart") {
        for _ in 0..<2 { await beat(events) }
      }
      let leaver = Task(name: "leaver") {
        await lookUp(6)
        await events.change { $0.append("goodbye") }
      }
      await heart.value
      await leaver.value
      try expect(await events.value.last == "goodbye", "nothing comes after the goodbye")
    }
  }

  static let lateHeartbeat = KnownBug(
    name: "heartbeat after the goodbye",
    buggy: lateHeartbeat { events in
      if await events.value.contains("goodbye") { return }
      log("it is there")
      await events.change { $0.append("beat") }
    },
    corrected: lateHeartbeat { events in
      await events.change { if !$0.contains("goodbye") { $0.append("beat") } }
    })

  /// A refund moves money in two steps, and an audit in between sees only the first.
  private static func halfRefund(
    _ refund: @escaping @Sendable (Cell<Int>, Cell<Int>) async -> Void
  ) -> Operation {
    { _ in
      let (shop, customer) = (Cell(100), Cell(0))
      let refunds = Task(name: "refund") { await refund(shop, customer) }
      let audit = Task(name: "audit") {
        await lookUp(4)
        return await shop.value + customer.value
      }
      await refunds.value
      try expect(await audit.value >= 100, "no money is missing")
    }
  }

  static let halfRefund = KnownBug(
    name: "audit of a refund",
    buggy: halfRefund { shop, customer in
      await shop.change { $0 -= 50 }
      log("taken")
      await customer.change { $0 += 50 }
    },
    corrected: halfRefund { shop, customer in
      await customer.change { $0 += 50 }
      log("given")
      await shop.change { $0 -= 50 }
    })
}
