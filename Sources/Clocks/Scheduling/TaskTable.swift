/// The owner of each task that has been seen.
///
/// A hash table with open addressing, whose hash of an id is the id itself: the runtime numbers
/// tasks in the order in which it makes them, so tasks that are started together are found
/// together, and a million of them cost no cache miss each, as they would in a `Dictionary`.
///
/// Looking up, adding and removing: amortized O(1).
struct TaskTable {
  /// What is known of a task.
  enum Owner {
    /// It has not been seen.
    case unknown
    /// It belongs to no test.
    case nobody
    case scheduler(Scheduler)
  }

  private struct Entry {
    /// 0 marks an empty place: no task has that id.
    var id: UInt64 = 0
    var owner: Unmanaged<Scheduler>?
  }

  /// Its count is a power of two; at most half of it is in use, so that searches are short.
  private var entries: [Entry] = []
  private(set) var count = 0

  /// What is known of a task. O(1).
  subscript(id: UInt64) -> Owner {
    guard count > 0 else { return .unknown }
    let mask = entries.count - 1
    var place = Int(truncatingIfNeeded: id) & mask
    while entries[place].id != 0 {
      if entries[place].id == id {
        return entries[place].owner.map { .scheduler($0.takeUnretainedValue()) } ?? .nobody
      }
      place = (place + 1) & mask
    }
    return .unknown
  }

  /// Notes whose a task is. Amortized O(1).
  ///
  /// The scheduler is not kept alive: whoever adds it removes it in time.
  mutating func set(_ id: UInt64, to scheduler: Scheduler?) {
    if count * 2 >= entries.count { grow() }
    let mask = entries.count - 1
    var place = Int(truncatingIfNeeded: id) & mask
    while entries[place].id != 0, entries[place].id != id { place = (place + 1) & mask }
    if entries[place].id == 0 { count += 1 }
    entries[place] = Entry(id: id, owner: scheduler.map(Unmanaged.passUnretained))
  }

  /// Forgets a task, if `scheduler` owns it, or if it is nobody's and `scheduler` is `nil`. O(1).
  mutating func remove(_ id: UInt64, of scheduler: Scheduler?) {
    guard count > 0 else { return }
    let mask = entries.count - 1
    var place = Int(truncatingIfNeeded: id) & mask
    while entries[place].id != id {
      if entries[place].id == 0 { return }
      place = (place + 1) & mask
    }
    guard
      entries[place].owner?.toOpaque() == scheduler.map({ Unmanaged.passUnretained($0).toOpaque() })
    else { return }
    // Whatever comes behind moves up, unless it would then stand before the place where a search
    // for it begins.
    var next = (place + 1) & mask
    while entries[next].id != 0 {
      let home = Int(truncatingIfNeeded: entries[next].id) & mask
      if (next &- home) & mask >= (next &- place) & mask {
        entries[place] = entries[next]
        place = next
      }
      next = (next + 1) & mask
    }
    entries[place] = Entry()
    count -= 1
  }

  mutating func removeAll() {
    entries = []
    count = 0
  }

  private mutating func grow() {
    let old = entries
    entries = Array(repeating: Entry(), count: max(64, old.count * 2))
    let mask = entries.count - 1
    for entry in old where entry.id != 0 {
      var place = Int(truncatingIfNeeded: entry.id) & mask
      while entries[place].id != 0 { place = (place + 1) & mask }
      entries[place] = entry
    }
  }
}
