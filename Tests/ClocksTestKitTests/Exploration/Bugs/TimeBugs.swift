import Clocks

/// Two events come at the same instant, or in an unexpected order.
extension KnownBug {
  private actor Request {
    private(set) var outcome: String?
    private(set) var ends = 0
    func end(_ outcome: String) {
      ends += 1
      self.outcome = outcome
    }
    func endOnce(_ outcome: String) {
      if self.outcome == nil { end(outcome) }
    }
  }

  private static func timeoutTie(
    timeout: Duration, _ end: @escaping @Sendable (Request, String) async -> Void
  ) -> Operation {
    { _ in
      let request = Request()
      let answer = Task {
        try await Task.sleep(for: .seconds(5))
        await end(request, "answer")
      }
      let timer = Task {
        try await Task.sleep(for: timeout)
        await end(request, "timeout")
      }
      _ = await (answer.result, timer.result)
      try expect(await request.outcome == "answer", "an answer in time counts")
    }
  }

  static let timeoutTie = KnownBug(
    name: "tie of timeout and result",
    buggy: timeoutTie(timeout: .seconds(5)) { await $0.endOnce($1) },
    corrected: timeoutTie(timeout: .seconds(6)) { await $0.endOnce($1) })

  private actor Search {
    private(set) var shown = ""
    private var newest = 0
    private let latency: Duration
    init(latency: Duration) { self.latency = latency }

    func search(_ text: String) async {
      try? await Task.sleep(for: latency)
      shown = text
    }

    func searchNewest(_ text: String, number: Int) async {
      newest = max(newest, number)
      try? await Task.sleep(for: latency)
      if number == newest { shown = text }
    }
  }

  private static func staleAnswer(
    _ search: @escaping @Sendable (Search, String, Int) async -> Void
  ) -> Operation {
    { _ in
      let model = Search(latency: .milliseconds(250))
      let first = Task(name: "first") { await search(model, "sw", 1) }
      let second = Task(name: "second") { await search(model, "swift", 2) }
      _ = await (first.value, second.value)
      try expect(await model.shown == "swift", "the newest answer is shown")
    }
  }

  static let staleAnswer = KnownBug(
    name: "stale search answer", buggy: staleAnswer { model, text, _ in await model.search(text) },
    corrected: staleAnswer { await $0.searchNewest($1, number: $2) })

  private actor Field {
    private(set) var searches: [String] = []
    private var text = ""
    private var pending: Task<Void, Never>?

    func type(_ text: String) {
      self.text = text
      pending?.cancel()
      pending = Task {
        try? await Task.sleep(for: .milliseconds(300))
        if !Task.isCancelled { searches.append(text) }
      }
    }

    func typeSafely(_ text: String) {
      self.text = text
      pending?.cancel()
      pending = Task {
        try? await Task.sleep(for: .milliseconds(300))
        if !Task.isCancelled, text == self.text { searches.append(text) }
      }
    }
  }

  private static func debounceTie(
    gap: Duration, _ type: @escaping @Sendable (Field, String) async -> Void
  ) -> Operation {
    { time in
      let field = Field()
      await type(field, "s")
      try await Task.sleep(for: gap)
      await type(field, "sw")
      try await Task.sleep(for: .seconds(1))
      try expect(await field.searches == ["sw"], "one search for one word")
    }
  }

  static let debounceTie = KnownBug(
    name: "debounce tie", buggy: debounceTie(gap: .milliseconds(300)) { await $0.type($1) },
    corrected: debounceTie(gap: .milliseconds(200)) { await $0.typeSafely($1) })

  private static func cancelAgainstComplete(
    _ end: @escaping @Sendable (Request, String) async -> Void
  ) -> Operation {
    { _ in
      let request = Request()
      let download = Task {
        try await Task.sleep(for: .milliseconds(100))
        if await request.outcome == nil { await end(request, "complete") }
      }
      let user = Task {
        try await Task.sleep(for: .milliseconds(100))
        if await request.outcome == nil { await end(request, "cancelled") }
      }
      _ = await (download.result, user.result)
      try expect(await request.ends == 1, "a request ends once")
    }
  }

  static let cancelAgainstComplete = KnownBug(
    name: "cancel against complete", buggy: cancelAgainstComplete { await $0.end($1) },
    corrected: cancelAgainstComplete { await $0.endOnce($1) })

  private actor Likes {
    private(set) var isLiked = false
    private(set) var number = 0
    func answer(_ isLiked: Bool) { self.isLiked = isLiked }
    func answer(_ isLiked: Bool, number: Int) {
      guard number > self.number else { return }
      self.number = number
      self.isLiked = isLiked
    }
  }

  private static func quickTaps(
    _ answer: @escaping @Sendable (Likes, Bool, Int) async -> Void
  ) -> Operation {
    { _ in
      let likes = Likes()
      let taps = [true, false, true].enumerated().map { index, isLiked in
        Task {
          try? await Task.sleep(for: .milliseconds(50))
          await answer(likes, isLiked, index + 1)
        }
      }
      for tap in taps { await tap.value }
      try expect(await likes.isLiked, "the last tap counts")
    }
  }

  static let quickTaps = KnownBug(
    name: "quick taps", buggy: quickTaps { likes, isLiked, _ in await likes.answer(isLiked) },
    corrected: quickTaps { await $0.answer($1, number: $2) })

  private actor Shop {
    private(set) var charges = 0
    private var keys: Set<String> = []
    func charge() async {
      try? await Task.sleep(for: .seconds(2))
      charges += 1
    }
    func charge(key: String) async {
      guard keys.insert(key).inserted else { return }
      await charge()
    }
  }

  private static func doublePayment(
    _ pay: @escaping @Sendable (Shop) async -> Void
  ) -> Operation {
    { _ in
      let shop = Shop()
      let payment = Task { await pay(shop) }
      let retry = Task {
        // The answer seems not to have come in time.
        try? await Task.sleep(for: .seconds(2))
        if await shop.charges == 0 { await pay(shop) }
      }
      _ = await (payment.value, retry.value)
      try expect(await shop.charges == 1, "one charge for one order")
    }
  }

  static let doublePayment = KnownBug(
    name: "double payment", buggy: doublePayment { await $0.charge() },
    corrected: doublePayment { await $0.charge(key: "order 1") })
}
