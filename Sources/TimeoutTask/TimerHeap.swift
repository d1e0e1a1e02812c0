/// Who is told when a deadline has passed.
protocol Alarm: AnyObject, Sendable {
  /// Called once, in a task of its own.
  func ring()
}

/// The deadlines of many alarms, of which the one that is due first can be found.
///
/// It does no locking; its owner does. A deadline that is taken out lets go of its alarm at once; its
/// place in the heap is freed when it comes to the top, or when more than half of all places are
/// such. So taking out is O(1), on the whole, and a place takes 16 bytes in the heap and 32 beside it.
struct TimerHeap {
  /// What a deadline is known by: where it is kept, and a number that no other one ever has.
  struct Ticket: Sendable, Equatable {
    fileprivate let place: UInt32
    fileprivate let number: UInt64
  }

  private struct Entry {
    /// The instant until which the alarm has to ring.
    let latest: Int64
    let place: UInt32
  }

  private struct Place {
    /// Of the deadline that is kept here, or was the last to be.
    var number: UInt64 = 0
    /// How much earlier than at the latest the alarm may ring.
    var slack: Int64 = 0
    /// `nil` if the deadline was taken out.
    var alarm: (any Alarm)?
  }

  /// A heap in which each entry has up to four children, none of them before it.
  private var entries: [Entry] = []
  private var places: [Place] = []
  /// The places that no entry points to.
  private var free: [UInt32] = []
  /// How many entries point to a place without an alarm.
  private var dead = 0
  private var lastNumber: UInt64 = 0

  /// The number of deadlines that have not been taken out.
  var count: Int { entries.count - dead }

  /// The number of places that are taken, those included whose deadline was taken out.
  var size: Int { entries.count }

  /// Adds a deadline. O(log n); O(1) if it is later than those that are here.
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

  /// Takes a deadline out, and returns its alarm; or `nil` if it is not here any more.
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

  /// The deadline that has to be met first.
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

  /// Takes out the deadlines that have passed, the first to be met first.
  ///
  /// One that has passed may be left until another one's, which may not be as late, has been met.
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

  /// Drops the entries whose deadlines were taken out. O(n).
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
    // From the last one that has children upwards.
    if live.count > 1 {
      for index in stride(from: (live.count - 2) / 4, through: 0, by: -1) {
        sink(entries[index], from: index)
      }
    }
    if live.isEmpty { releaseMemory() }
  }

  /// Gives back what many deadlines have taken, once there is none.
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

  /// Puts an entry where it belongs, at a place or below.
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
