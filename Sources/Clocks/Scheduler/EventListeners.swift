/// Several listeners in the place of one, told in the order in which they came.
///
/// It does not change, so that whoever has taken it from a scheduler may use it without a lock.
private final class EventListeners: EventListener {
  let all: [any EventListener]

  init(_ all: [any EventListener]) { self.all = all }

  func hear(_ event: SchedulerEvent) {
    for listener in all { listener.hear(event) }
  }

  func see(_ task: UnownedJob, _ id: UInt64) {
    for listener in all { listener.see(task, id) }
  }

  func isOver() {
    for listener in all { listener.isOver() }
  }

  var explanation: String? {
    let explanations = all.compactMap(\.explanation)
    return explanations.isEmpty ? nil : explanations.joined(separator: "\n")
  }
}

extension SchedulerState {
  /// All who are told what happens, in the order in which they came.
  private var listeners: [any EventListener] {
    guard let listener else { return [] }
    return (listener as? EventListeners)?.all ?? [listener]
  }

  /// Has one more told what happens. O(listeners).
  mutating func add(_ listener: any EventListener) { listen(listeners + [listener]) }

  /// Has a listener told nothing more; the others still are. O(listeners).
  mutating func remove(_ listener: any EventListener) {
    listen(listeners.filter { $0 !== listener })
  }

  /// The first listener of this kind. O(listeners).
  func listener<Kind: EventListener>(_ kind: Kind.Type) -> Kind? {
    for case let listener as Kind in listeners { return listener }
    return nil
  }

  /// One listener is told without a detour.
  private mutating func listen(_ listeners: [any EventListener]) {
    listener = listeners.count > 1 ? EventListeners(listeners) : listeners.first
  }
}
