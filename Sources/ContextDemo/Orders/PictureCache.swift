/// Downloads pictures and remembers them.
protocol PictureCache: Actor {
  var downloads: Int { get }
  func image(_ name: String) async throws -> String
}

/// Looks, waits and stores: whoever looks while another one waits downloads, too.
actor HastyPictureCache: PictureCache {
  private var pictures: [String: String] = [:]
  private(set) var downloads = 0
  private let clock: any Clock<Duration>

  init(clock: any Clock<Duration>) { self.clock = clock }

  func image(_ name: String) async throws -> String {
    if let picture = pictures[name] { return picture }
    downloads += 1
    try await clock.sleep(for: .seconds(1))
    pictures[name] = "a picture of \(name)"
    return "a picture of \(name)"
  }
}

/// Remembers also what is under way.
actor CarefulPictureCache: PictureCache {
  private var pictures: [String: Task<String, any Error>] = [:]
  private(set) var downloads = 0
  private let clock: any Clock<Duration>

  init(clock: any Clock<Duration>) { self.clock = clock }

  func image(_ name: String) async throws -> String {
    if let picture = pictures[name] { return try await picture.value }
    downloads += 1
    let task = Task {
      try await clock.sleep(for: .seconds(1))
      return "a picture of \(name)"
    }
    pictures[name] = task
    return try await task.value
  }
}
