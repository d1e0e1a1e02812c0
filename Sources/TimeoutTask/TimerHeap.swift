/// An object that is called when a deadline has passed.
protocol Alarm: AnyObject, Sendable {
  /// Handles the passed deadline. Called at most once, in a task that runs nothing else.
  func ring()
}

/// A heap of deadlines with their alarms. The heap's owner guards it by a lock.
///
/// A deadline takes 16 bytes in `entries` and 32 in `places`.
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
    let number: UInt64
    /// How much earlier than the latest instant the alarm may ring.
    let slack: Int64
    /// `nil` if the deadline was removed.
    var alarm: (any Alarm)?
    /// Where the deadline's entry is.
    var index = 0
  }

  /// A heap in which each entry has up to four children, whose latest instants are not earlier than its own.
  private var entries: [Entry] = []
  private var places: [Place] = []
  /// The places to which no entry points.
  private var free: [UInt32] = []
  private var lastNumber: UInt64 = 0

  var count: Int { entries.count }

  /// The deadline whose latest instant comes first.
  var first: (deadline: Int64, slack: Int64)? {
    entries.first.map { top in
      let slack = places[Int(top.place)].slack
      return (top.latest - slack, slack)
    }
  }

  /// Adds a deadline. O(log n); O(1) if it is the latest.
  mutating func add(_ deadline: Int64, slack: Int64, _ alarm: any Alarm) -> Ticket {
    lastNumber += 1
    let new = Place(number: lastNumber, slack: slack, alarm: alarm)
    let place = free.popLast() ?? UInt32(places.count)
    if place < places.count { places[Int(place)] = new } else { places.append(new) }
    let entry = Entry(latest: deadline + slack, place: place)
    entries.append(entry)
    store(entry, atOrAbove: entries.count - 1)
    return Ticket(place: place, number: lastNumber)
  }

  /// Removes a deadline. Returns its alarm, or `nil` if it was removed already. O(log n); O(1) if it is the latest.
  mutating func remove(_ ticket: Ticket) -> (any Alarm)? {
    let place = Int(ticket.place)
    guard place < places.count, places[place].number == ticket.number,
      places[place].alarm != nil
    else { return nil }
    return remove(at: places[place].index)
  }

  /// Removes the deadlines that have passed, in the order of their latest instants. O(log n) for
  /// each.
  ///
  /// A passed deadline with slack stays in the heap until all deadlines with earlier latest
  /// instants have passed.
  mutating func takePassed(at now: Int64) -> [any Alarm] {
    var passed: [any Alarm] = []
    while let first, first.deadline <= now { passed.append(remove(at: 0)!) }
    return passed
  }

  private mutating func remove(at index: Int) -> (any Alarm)? {
    let place = entries[index].place
    let last = entries.removeLast()
    if index < entries.count {
      store(last, atOrAbove: index)
      store(entries[index], atOrBelow: index)
    }
    free.append(place)
    defer {
      // Frees the memory of a large heap that has become empty.
      if entries.isEmpty, places.count > 1024 { (entries, places, free) = ([], [], []) }
    }
    return places[Int(place)].alarm.take()
  }

  // MARK: - Order

  private mutating func store(_ entry: Entry, at index: Int) {
    entries[index] = entry
    places[Int(entry.place)].index = index
  }

  /// Stores an entry at an index, or above it in the heap if the order requires that.
  private mutating func store(_ entry: Entry, atOrAbove index: Int) {
    var index = index
    while index > 0, entries[(index - 1) / 4].latest > entry.latest {
      store(entries[(index - 1) / 4], at: index)
      index = (index - 1) / 4
    }
    store(entry, at: index)
  }

  /// Stores an entry at an index, or below it in the heap if the order requires that.
  private mutating func store(_ entry: Entry, atOrBelow index: Int) {
    var index = index
    while let child = (min(index * 4 + 1, entries.count)..<entries.count).prefix(4)
      .min(by: { entries[$0].latest < entries[$1].latest }), entries[child].latest < entry.latest
    {
      store(entries[child], at: index)
      index = child
    }
    store(entry, at: index)
  }
}
