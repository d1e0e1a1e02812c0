/// An object that is called when a deadline has passed.
protocol Alarm: AnyObject, Sendable {
  /// Handles the passed deadline. Called at most once, in a task that runs nothing else.
  func ring()
}

/// A heap of deadlines with their alarms. The heap's owner guards it by a lock.
///
/// Removing a deadline releases its alarm immediately. Its entry in the heap is dead from then on.
/// A dead entry is freed when it comes to the top, or when more than half of all entries are dead.
/// So removal is amortized O(1). A deadline takes 16 bytes in `entries` and 32 in `places`.
struct TimerHeap {
  /// Identifies a deadline: its index in `places`, and a number that is never used again.
  struct Ticket: Sendable, Equatable {
    fileprivate let place: UInt32
    fileprivate let number: UInt64
  }

  private struct Entry {
    /// The latest instant at which the alarm may ring: its deadline plus its slack.
    let latest: Int64
    let place: UInt32
  }

  private struct Place {
    /// The number of the deadline that uses this place, or that used it last.
    var number: UInt64 = 0
    /// How much earlier than the latest instant the alarm may ring.
    var slack: Int64 = 0
    /// `nil` if the deadline was removed.
    var alarm: (any Alarm)?
  }

  /// A heap in which each entry has up to four children, whose latest instants are not earlier than its own.
  private var entries: [Entry] = []
  private var places: [Place] = []
  /// The places to which no entry points.
  private var free: [UInt32] = []
  /// The number of entries whose deadline was removed, so that their place has no alarm.
  private var dead = 0
  private var lastNumber: UInt64 = 0

  /// The number of deadlines that have not been removed.
  var count: Int { entries.count - dead }

  /// The number of entries, dead ones included.
  var size: Int { entries.count }

  /// Adds a deadline. O(log n); O(1) if it is the latest.
  mutating func add(_ deadline: Int64, slack: Int64, _ alarm: any Alarm) -> Ticket {
    lastNumber += 1
    let new = Place(number: lastNumber, slack: slack, alarm: alarm)
    let place: UInt32
    if let last = free.popLast() {
      place = last
      places[Int(place)] = new
    } else {
      place = UInt32(places.count)
      places.append(new)
    }
    push(Entry(latest: deadline + slack, place: place))
    return Ticket(place: place, number: lastNumber)
  }

  /// Removes a deadline. Returns its alarm, or `nil` if it was removed already. O(1) amortized.
  mutating func remove(_ ticket: Ticket) -> (any Alarm)? {
    let index = Int(ticket.place)
    guard index < places.count, places[index].number == ticket.number,
      let alarm = places[index].alarm
    else { return nil }
    places[index].alarm = nil
    dead += 1
    if dead > 64, dead > entries.count / 2 { compact() }
    return alarm
  }

  /// Returns the deadline whose latest instant comes first. O(1), and O(log n) for each dead entry.
  mutating func first() -> (deadline: Int64, slack: Int64)? {
    while let top = entries.first {
      let place = places[Int(top.place)]
      if place.alarm != nil { return (top.latest - place.slack, place.slack) }
      pop()
      dead -= 1
      leave(top.place)
    }
    return nil
  }

  /// Removes the deadlines that have passed, in the order of their latest instants. O(log n) for
  /// each.
  ///
  /// A passed deadline with slack stays in the heap until all deadlines with earlier latest
  /// instants have passed.
  mutating func takePassed(at now: Int64) -> [any Alarm] {
    var passed: [any Alarm] = []
    while let (deadline, _) = first(), deadline <= now {
      let place = pop().place
      if let alarm = places[Int(place)].alarm { passed.append(alarm) }
      leave(place)
    }
    return passed
  }

  // MARK: - Places

  private mutating func leave(_ place: UInt32) {
    places[Int(place)].alarm = nil
    free.append(place)
    if entries.isEmpty { releaseMemory() }
  }

  /// Drops the dead entries. O(n).
  private mutating func compact() {
    var live: [Entry] = []
    live.reserveCapacity(entries.count - dead)
    for entry in entries {
      if places[Int(entry.place)].alarm == nil {
        free.append(entry.place)
      } else {
        live.append(entry)
      }
    }
    entries = live
    dead = 0
    // Restores the order of the heap, from the last entry that has children upwards.
    if live.count > 1 {
      for index in stride(from: (live.count - 2) / 4, through: 0, by: -1) {
        sink(entries[index], from: index)
      }
    }
    if live.isEmpty { releaseMemory() }
  }

  /// Frees the memory of a large heap that has become empty.
  private mutating func releaseMemory() {
    if places.count <= 1024 { return }
    (entries, places, free) = ([], [], [])
  }

  // MARK: - Order

  private mutating func push(_ entry: Entry) {
    var index = entries.count
    entries.append(entry)
    while index > 0 {
      let parent = (index - 1) / 4
      if entries[parent].latest <= entry.latest { break }
      entries[index] = entries[parent]
      index = parent
    }
    entries[index] = entry
  }

  @discardableResult
  private mutating func pop() -> Entry {
    let top = entries[0]
    let last = entries.removeLast()
    if !entries.isEmpty { sink(last, from: 0) }
    return top
  }

  /// Stores an entry at the index `start`, or below it in the heap if the order requires that.
  private mutating func sink(_ entry: Entry, from start: Int) {
    var index = start
    while true {
      let child = index * 4 + 1
      if child >= entries.count { break }
      var earliest = child
      for other in child..<min(child + 4, entries.count)
      where entries[other].latest < entries[earliest].latest {
        earliest = other
      }
      if entries[earliest].latest >= entry.latest { break }
      entries[index] = entries[earliest]
      index = earliest
    }
    entries[index] = entry
  }
}
