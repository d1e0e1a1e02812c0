import Clocks

/// A task acts on state that has changed since the task read it.
extension KnownBug {
  private actor Counter {
    private(set) var value = 0
    func set(_ value: Int) { self.value = value }
    func increment() { value += 1 }
  }

  static let lostUpdate = KnownBug(
    name: "lost update",
    buggy: { _ in
      let counter = Counter()
      await withTaskGroup { group in
        for _ in 0..<2 { group.addTask { await counter.set(await counter.value + 1) } }
      }
      try expect(await counter.value == 2, "both increments count")
    },
    corrected: { _ in
      let counter = Counter()
      await withTaskGroup { group in
        for _ in 0..<2 { group.addTask { await counter.increment() } }
      }
      try expect(await counter.value == 2, "both increments count")
    })

  private actor Account {
    private(set) var balance: Int
    private let bank: @Sendable () async -> Void
    init(balance: Int, bank: @escaping @Sendable () async -> Void) {
      self.balance = balance
      self.bank = bank
    }

    func withdraw(_ amount: Int) async -> Bool {
      guard balance >= amount else { return false }
      await bank()
      balance -= amount
      return true
    }

    func withdrawSafely(_ amount: Int) async -> Bool {
      guard balance >= amount else { return false }
      balance -= amount
      await bank()
      return true
    }
  }

  private static func overdraw(
    _ withdraw: @escaping @Sendable (Account, Int) async -> Bool
  ) -> Operation {
    { _ in
      let account = Account(balance: 100) { try? await Task.sleep(for: .milliseconds(20)) }
      async let first = withdraw(account, 80)
      async let second = withdraw(account, 70)
      _ = await (first, second)
      try expect(await account.balance >= 0, "the account is not overdrawn")
    }
  }

  static let overdraw = KnownBug(
    name: "overdraw", buggy: overdraw { await $0.withdraw($1) },
    corrected: overdraw { await $0.withdrawSafely($1) })

  private actor Directory {
    private(set) var accounts: [String: Int] = [:]
    private(set) var created = 0
    func account(named name: String) -> Int? { accounts[name] }
    func create(_ name: String) {
      created += 1
      accounts[name] = created
    }
    func accountOrNew(_ name: String) {
      if accounts[name] == nil { create(name) }
    }
  }

  static let accountCreation = KnownBug(
    name: "account creation",
    buggy: { _ in
      let directory = Directory()
      await withTaskGroup { group in
        for _ in 0..<3 {
          group.addTask {
            if await directory.account(named: "ada") == nil { await directory.create("ada") }
          }
        }
      }
      try expect(await directory.created == 1, "one account for a name")
    },
    corrected: { _ in
      let directory = Directory()
      await withTaskGroup { group in
        for _ in 0..<3 { group.addTask { await directory.accountOrNew("ada") } }
      }
      try expect(await directory.created == 1, "one account for a name")
    })

  private actor Purse {
    private(set) var money: Int
    init(_ money: Int) { self.money = money }
    func add(_ amount: Int) { money += amount }
  }

  private actor Bank {
    private var purses = [50, 50]
    func transfer(_ amount: Int, from: Int, to: Int) {
      purses[from] -= amount
      purses[to] += amount
    }
    var total: Int { purses.reduce(0, +) }
  }

  static let transferAudit = KnownBug(
    name: "audit during a transfer",
    buggy: { _ in
      let (one, other) = (Purse(50), Purse(50))
      let transfer = Task {
        await one.add(-10)
        log("taken")
        await other.add(10)
      }
      let audit = Task { await one.money + other.money }
      let total = await audit.value
      await transfer.value
      try expect(total == 100, "no money is in between")
    },
    corrected: { _ in
      let bank = Bank()
      let transfer = Task { await bank.transfer(10, from: 0, to: 1) }
      let audit = Task { await bank.total }
      let total = await audit.value
      await transfer.value
      try expect(total == 100, "no money is in between")
    })

  private actor Buffer {
    private(set) var items: [Int] = []
    private(set) var most = 0
    let capacity = 2
    var isFull: Bool { items.count >= capacity }
    func put(_ item: Int) {
      items.append(item)
      most = max(most, items.count)
    }
    func putIfThereIsRoom(_ item: Int) -> Bool {
      guard !isFull else { return false }
      put(item)
      return true
    }
    func take() -> Int? { items.isEmpty ? nil : items.removeFirst() }
  }

  private static func boundedBuffer(
    _ put: @escaping @Sendable (Buffer, Int) async -> Void
  ) -> Operation {
    { _ in
      let buffer = Buffer()
      await withTaskGroup { group in
        for producer in 0..<3 { group.addTask { await put(buffer, producer) } }
        group.addTask {
          var taken = 0
          while taken < 3 {
            if await buffer.take() != nil {
              taken += 1
            } else {
              try? await Task.sleep(for: .milliseconds(1))
            }
          }
        }
      }
      try expect(await buffer.most <= 2, "no more than its capacity")
    }
  }

  static let boundedBuffer = KnownBug(
    name: "bounded buffer",
    buggy: boundedBuffer { buffer, item in
      while await buffer.isFull { try? await Task.sleep(for: .milliseconds(1)) }
      await buffer.put(item)
    },
    corrected: boundedBuffer { buffer, item in
      while await !buffer.putIfThereIsRoom(item) { try? await Task.sleep(for: .milliseconds(1)) }
    })

  private actor Limiter {
    private(set) var running = 0
    private(set) var most = 0
    private let limit = 2
    var mayStart: Bool { running < limit }
    func begin() {
      running += 1
      most = max(most, running)
    }
    func beginIfPossible() -> Bool {
      guard mayStart else { return false }
      begin()
      return true
    }
    func end() { running -= 1 }
  }

  private static func limiter(
    _ begin: @escaping @Sendable (Limiter) async -> Void
  ) -> Operation {
    { _ in
      let limiter = Limiter()
      await withTaskGroup { group in
        for number in 0..<4 {
          group.addTask {
            try? await Task.sleep(for: .milliseconds(number / 2 * 5))
            await begin(limiter)
            try? await Task.sleep(for: .milliseconds(10))
            await limiter.end()
          }
        }
      }
      try expect(await limiter.most <= 2, "two uploads at a time")
    }
  }

  static let limiter = KnownBug(
    name: "upload limit",
    buggy: limiter { limiter in
      while await !limiter.mayStart { try? await Task.sleep(for: .milliseconds(5)) }
      log("starting")
      await limiter.begin()
    },
    corrected: limiter { limiter in
      while await !limiter.beginIfPossible() { try? await Task.sleep(for: .milliseconds(5)) }
    })
}
