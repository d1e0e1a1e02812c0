import ClocksSupport

/// A task that belongs to a test case, and that the table retains.
struct Member: BitwiseCopyable {
  /// 0 marks an empty place of the table.
  var id: UInt64
  /// The task that runs the test case, which may be the member itself.
  var testCase: UInt64
  /// The retained task as a word, so that a copy of the entry retains nothing.
  var word: UInt

  var task: UnownedTask { UnownedTask(job: unsafeBitCast(word, to: UnownedJob.self)) }
}

/// The members of all test cases, by task id.
///
/// Not a `TaskTable`: each task of a test bundle has an entry here, also where nothing of this package is used, and a
/// debug build calls generic functions. All operations on one id are expected O(1), amortized where the table grows.
struct MemberTable: ~Copyable {
  /// At most half of the places are in use.
  private var places: UnsafeMutablePointer<Member>
  /// The number of places, a power of two.
  private(set) var length = shortest
  private(set) var count = 0
  @_transparent
  private static var shortest: Int { 64 }

  init() { places = Self.allocate(Self.shortest) }

  deinit { places.deallocate() }

  /// The address of a member, valid until a member is inserted or removed; `nil` if the task is none.
  func address(of id: UInt64) -> UnsafeMutablePointer<Member>? {
    let place = places + place(of: id)
    return place.pointee.id == id ? place : nil
  }

  /// Inserts a member. Requires that its task is not in the table.
  mutating func insert(_ member: Member) {
    if count * 2 >= length { resize(to: length * 2) }
    places[place(of: member.id)] = member
    count += 1
  }

  /// Removes a member. Returns its `word`; 0 if the task is no member.
  mutating func remove(_ id: UInt64) -> UInt {
    let emptied = place(of: id)
    guard places[emptied].id == id else { return 0 }
    let word = places[emptied].word
    empty(emptied)
    return word
  }

  /// Removes the tasks that are over, and appends their words to `over`. Frees the memory of many former members.
  ///
  /// Requires `RunningJobs.lock`. Thread A, which has run a task to its end, may be about to resume another member that
  /// waits for it. Until A's job has ended, the next owner has to know of both. Then A lets go of the task itself.
  ///
  /// O(n), amortized; times the number of threads for each task that is over.
  mutating func removeEnded(_ over: inout ScratchBuffer<UInt>) {
    var place = 0
    while place < length {
      let word = places[place].word
      if word != 0, TaskStatus(of: unsafeBitCast(word, to: UnownedJob.self)).isOver,
        !RunningJobs.isAny(of: places[place].id)
      {
        over.append(word)
        // Another member may move to this place.
        empty(place)
      } else {
        place += 1
      }
    }
    var shorter = length
    while shorter > Self.shortest, shorter > count * 8 { shorter /= 2 }
    if shorter < length { resize(to: shorter) }
  }

  /// All members, in no particular order.
  var all: [Member] { (0..<length).map { places[$0] }.filter { $0.id != 0 } }

  private static func allocate(_ length: Int) -> UnsafeMutablePointer<Member> {
    let places = UnsafeMutablePointer<Member>.allocate(capacity: length)
    places.initialize(repeating: Member(id: 0, testCase: 0, word: 0), count: length)
    return places
  }

  /// The place at which the search for a task begins.
  @_transparent
  private func home(of id: UInt64) -> Int {
    // Fibonacci hashing spreads neighbours (Knuth, The Art of Computer Programming, volume 3, 6.4).
    Int(truncatingIfNeeded: (id &* 0x9E37_79B9_7F4A_7C15) >> 32) & (length - 1)
  }

  /// The place of a task, or the empty place for it.
  @_transparent
  private func place(of id: UInt64) -> Int {
    var place = home(of: id)
    while places[place].id != 0, places[place].id != id { place = (place + 1) & (length - 1) }
    return place
  }

  private mutating func empty(_ emptied: Int) {
    // Backward shift deletion: each member after the gap moves into it, unless that place is before the member's
    // `home`, where the search for the member begins.
    var place = emptied
    var next = (place + 1) & (length - 1)
    while places[next].id != 0 {
      if (next &- home(of: places[next].id)) & (length - 1) >= (next &- place) & (length - 1) {
        places[place] = places[next]
        place = next
      }
      next = (next + 1) & (length - 1)
    }
    places[place] = Member(id: 0, testCase: 0, word: 0)
    count -= 1
  }

  private mutating func resize(to newLength: Int) {
    let (old, oldLength) = (places, length)
    length = newLength
    places = Self.allocate(length)
    var next = 0
    while next < oldLength {
      if old[next].id != 0 { places[place(of: old[next].id)] = old[next] }
      next += 1
    }
    old.deallocate()
  }

  /// Stops the program if an invariant does not hold. O(places); for tests.
  func checkInvariants() {
    let used = (0..<length).filter { places[$0].id != 0 }
    precondition(used.count == count && count * 2 <= length, "miscounted members")
    precondition(used.allSatisfy { place(of: places[$0].id) == $0 }, "a lost member")
  }
}
