import Clocks

/// Something happens twice that should happen once.
extension KnownBug {
  private actor ImageCache {
    private var images: [String: Int] = [:]
    private var loading: [String: Task<Int, Never>] = [:]
    private(set) var downloads = 0

    private func download(_ key: String) async -> Int {
      downloads += 1
      try? await Task.sleep(for: .seconds(1))
      return key.count
    }

    func image(_ key: String) async -> Int {
      if let image = images[key] { return image }
      let image = await download(key)
      images[key] = image
      return image
    }

    func imageOnce(_ key: String) async -> Int {
      if let image = images[key] { return image }
      if let task = loading[key] { return await task.value }
      let task = Task { await download(key) }
      loading[key] = task
      let image = await task.value
      images[key] = image
      return image
    }
  }

  private static func imageCache(
    _ load: @escaping @Sendable (ImageCache) async -> Int
  ) -> Operation {
    { _ in
      let cache = ImageCache()
      let top = Task(name: "top") { await load(cache) }
      let list = Task(name: "list") { await load(cache) }
      _ = await (top.value, list.value)
      try expect(await cache.downloads == 1, "one download for an image")
    }
  }

  static let imageCache = KnownBug(
    name: "image cache", buggy: imageCache { await $0.image("cat") },
    corrected: imageCache { await $0.imageOnce("cat") })

  private actor Session {
    private var token: Int?
    private var refreshing: Task<Int, Never>?
    private(set) var refreshes = 0

    private func fetch() async -> Int {
      refreshes += 1
      try? await Task.sleep(for: .milliseconds(300))
      return refreshes
    }

    func validToken() async -> Int {
      if let token { return token }
      let fresh = await fetch()
      token = fresh
      return fresh
    }

    func validTokenOnce() async -> Int {
      if let token { return token }
      let task = refreshing ?? Task { await fetch() }
      refreshing = task
      let fresh = await task.value
      token = fresh
      refreshing = nil
      return fresh
    }
  }

  private static func tokenStampede(
    _ token: @escaping @Sendable (Session) async -> Int
  ) -> Operation {
    { _ in
      let session = Session()
      await withTaskGroup { group in
        for request in 0..<3 {
          group.addTask {
            try? await Task.sleep(for: .milliseconds(request * 150))
            _ = await token(session)
          }
        }
      }
      try expect(await session.refreshes == 1, "one refresh for all requests")
    }
  }

  static let tokenStampede = KnownBug(
    name: "token stampede", buggy: tokenStampede { await $0.validToken() },
    corrected: tokenStampede { await $0.validTokenOnce() })

  private actor Service {
    private var isStarted = false
    private var starting: Task<Void, Never>?
    private(set) var starts = 0

    private func setUp() async {
      starts += 1
      await Task.yield()
    }

    func start() async {
      guard !isStarted else { return }
      await setUp()
      isStarted = true
    }

    func startOnce() async {
      if starting == nil { starting = Task { await setUp() } }
      await starting?.value
    }
  }

  private static func lateStart(
    _ start: @escaping @Sendable (Service) async -> Void
  ) -> Operation {
    { _ in
      let service = Service()
      await withTaskGroup { group in
        for _ in 0..<2 { group.addTask { await start(service) } }
      }
      try expect(await service.starts == 1, "the service starts once")
    }
  }

  static let lateStart = KnownBug(
    name: "double start", buggy: lateStart { await $0.start() },
    corrected: lateStart { await $0.startOnce() })

  private actor List {
    private(set) var items: [Int] = []
    private var isLoading = false
    private var page = 0

    private func fetch(_ page: Int) async -> [Int] {
      try? await Task.sleep(for: .milliseconds(100))
      return [page * 2, page * 2 + 1]
    }

    func loadMore() async {
      let next = await fetch(page)
      items += next
      page += 1
    }

    func loadMoreOnce() async {
      guard !isLoading else { return }
      isLoading = true
      items += await fetch(page)
      page += 1
      isLoading = false
    }
  }

  private static func pagination(
    _ load: @escaping @Sendable (List) async -> Void
  ) -> Operation {
    { _ in
      let list = List()
      let scroll = Task { await load(list) }
      let pull = Task {
        try? await Task.sleep(for: .milliseconds(50))
        await load(list)
      }
      _ = await (scroll.value, pull.value)
      let items = await list.items
      try expect(Set(items).count == items.count, "no item twice")
    }
  }

  static let pagination = KnownBug(
    name: "pagination", buggy: pagination { await $0.loadMore() },
    corrected: pagination { await $0.loadMoreOnce() })

  private actor Cluster {
    private(set) var leader: Int?
    func become(_ node: Int) { leader = node }
    func becomeIfVacant(_ node: Int) -> Bool {
      guard leader == nil else { return false }
      leader = node
      return true
    }
  }

  private static func leaderElection(
    _ stand: @escaping @Sendable (Cluster, Int) async -> Bool
  ) -> Operation {
    { _ in
      let cluster = Cluster()
      let leaders = await withTaskGroup { group in
        for node in 0..<3 {
          group.addTask {
            // A node with a lower number waits for less time.
            try? await Task.sleep(for: .milliseconds(10 * (node + 1)))
            return await stand(cluster, node)
          }
        }
        return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      try expect(leaders == 1, "one leader")
    }
  }

  static let leaderElection = KnownBug(
    name: "leader election",
    buggy: leaderElection { cluster, node in
      guard await cluster.leader == nil else { return false }
      // Stands for a message to the other nodes; it takes until the next node stands for election.
      try? await Task.sleep(for: .milliseconds(10))
      await cluster.become(node)
      return true
    },
    corrected: leaderElection { cluster, node in
      guard await cluster.becomeIfVacant(node) else { return false }
      try? await Task.sleep(for: .milliseconds(10))
      return true
    })

  private actor FreeList {
    private(set) var top = "A"
    private(set) var next = ["A": "B", "B": "C", "C": ""]
    private(set) var version = 0
    func replaceTop(_ old: String, with new: String) -> Bool {
      guard top == old else { return false }
      top = new
      version += 1
      return true
    }
    func replaceTop(_ old: String, with new: String, version: Int) -> Bool {
      self.version == version && replaceTop(old, with: new)
    }
    func state() -> (top: String, next: String, version: Int) { (top, next[top] ?? "", version) }
    func pop() -> String {
      let old = top
      top = next[old] ?? ""
      version += 1
      return old
    }
    func push(_ node: String) {
      next[node] = top
      top = node
      version += 1
    }
  }

  private static func compareAndSet(
    _ replace:
      @escaping @Sendable (FreeList, (top: String, next: String, version: Int)) async -> Bool
  ) -> Operation {
    { _ in
      let list = FreeList()
      let taken = Log()
      let slow = Task {
        let seen = await list.state()
        try? await Task.sleep(for: .milliseconds(1))
        if await replace(list, seen) { await taken.add(seen.top) }
      }
      let fast = Task {
        try? await Task.sleep(for: .milliseconds(1))
        let a = await list.pop()
        await taken.add(await list.pop())
        await list.push(a)
      }
      _ = await (slow.value, fast.value)
      let top = await list.top
      try expect(await !taken.all.contains(top), "a taken node is not free")
    }
  }

  private actor Log {
    private(set) var all: [String] = []
    func add(_ text: String) { all.append(text) }
  }

  static let compareAndSet = KnownBug(
    name: "ABA",
    buggy: compareAndSet { list, seen in await list.replaceTop(seen.top, with: seen.next) },
    corrected: compareAndSet { list, seen in
      await list.replaceTop(seen.top, with: seen.next, version: seen.version)
    })
}
