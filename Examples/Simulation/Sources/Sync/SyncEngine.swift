/// A line that a user adds to a shared list.
public struct Edit: Hashable, Sendable {
  public var device: String
  /// Counts the edits of the device.
  public var number: Int
  public var text: String

  public init(device: String, number: Int, text: String) {
    self.device = device
    self.number = number
    self.text = text
  }
}

/// The server as a device sees it. A call may fail after it was executed.
public protocol SyncService: Sendable {
  /// Adds edits to the list. Those that it has already have no effect.
  func push(_ edits: [Edit]) async throws
  /// Returns the edits from a position of the list.
  func pull(from position: Int) async throws -> [Edit]
}

/// The list on the server: the order in which edits arrived is the order for all.
public actor SyncServer: SyncService {
  public private(set) var list: [Edit] = []

  public init() {}

  public func push(_ edits: [Edit]) {
    for edit in edits where !list.contains(edit) { list.append(edit) }
  }

  public func pull(from position: Int) -> [Edit] { Array(list[min(position, list.count)...]) }
}

/// The list on one device. It can be edited offline, and is synchronized when there is a connection.
public actor SyncEngine {
  private let device: String
  private let service: any SyncService
  private let keepsNewEdits: Bool
  private var edits = 0
  /// What the server is known to have, in its order.
  private var synced: [Edit] = []
  /// What the server is not known to have.
  private var pending: [Edit] = []

  /// Creates an empty list.
  ///
  /// - Parameter keepsNewEdits: Whether an edit that was made during a push stays pending. Without this, it is never
  ///   pushed.
  public init(device: String, service: any SyncService, keepsNewEdits: Bool = true) {
    self.device = device
    self.service = service
    self.keepsNewEdits = keepsNewEdits
  }

  /// What the user sees.
  public var lines: [String] {
    (synced + pending.filter { !synced.contains($0) }).map { "\($0.device): \($0.text)" }
  }

  public func add(_ text: String) {
    edits += 1
    pending.append(Edit(device: device, number: edits, text: text))
  }

  /// Synchronizes after each pause until the task is cancelled; without a connection, tries again.
  public func run(every pause: Duration) async {
    while !Task.isCancelled {
      try? await synchronize()
      try? await Task.sleep(for: pause)
    }
  }

  /// Pushes the own edits and pulls those of others.
  public func synchronize() async throws {
    if !pending.isEmpty {
      let pushed = pending
      try await service.push(pushed)
      if keepsNewEdits {
        pending.removeAll(where: pushed.contains)
      } else {
        pending.removeAll()
      }
    }
    let position = synced.count
    let new = try await service.pull(from: position)
    // Another call may have pulled them meanwhile.
    if synced.count == position { synced += new }
  }
}
