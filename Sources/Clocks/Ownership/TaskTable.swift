/// Something about each of some tasks.
///
/// A hash table with open addressing, whose entries are blocks of 16 consecutive ids. The runtime
/// numbers tasks in the order in which it makes them, so tasks that are started together are found
/// together, and a million of them do not cost a cache miss each, as they would in a `Dictionary`.
/// It is the blocks that are hashed, and not the ids as they are: consecutive ids would make one
/// long run of entries, along which every search for an unknown id and every removal would walk.
///
/// Looking up, adding and removing: expected O(1), amortized where the table grows.
///
/// Its smallest functions are transparent, and it is in memory of its own and not in Arrays, so that also a debug
/// build calls no generic function for them.
struct TaskTable<Entry: TaskTableEntry>: ~Copyable {
  @_transparent
  private static var blockBits: UInt64 { 4 }
  @_transparent
  private static var blockLength: Int { 1 << Int(blockBits) }

  /// The number of places, a power of two or zero; at most half of them are in use, so that searches are
  /// short.
  private var length = 0
  /// The number of the block at each place, plus 1; 0 marks an empty place.
  private var blocks: UnsafeMutablePointer<UInt64>!
  /// The number of ids that are known of the block at each place; at least 1 where there is one.
  private var known: UnsafeMutablePointer<UInt8>!
  /// The entries of the ids of the block at each place.
  private var entries: UnsafeMutablePointer<Entry>!
  private var usedBlocks = 0
  private(set) var count = 0

  init() {}

  deinit { Self.free(blocks, known, entries, length) }

  private static func free(
    _ blocks: UnsafeMutablePointer<UInt64>?, _ known: UnsafeMutablePointer<UInt8>?,
    _ entries: UnsafeMutablePointer<Entry>?, _ length: Int
  ) {
    blocks?.deallocate()
    known?.deallocate()
    entries?.deinitialize(count: length << Int(blockBits))
    entries?.deallocate()
  }

  /// What is known of a task. Expected O(1).
  @inline(__always)
  subscript(id: UInt64) -> Entry {
    guard count > 0, let place = place(of: id) else { return .none }
    return entries[Self.slot(of: id, at: place)]
  }

  /// Notes something about a task, which is not none. Expected O(1), amortized.
  @inline(__always)
  mutating func set(_ id: UInt64, to entry: Entry) {
    let slot = Self.slot(of: id, at: newPlace(of: id))
    entries[slot] = entry
  }

  /// The same, unless something is known of it already; says whether there was nothing.
  @inline(__always)
  mutating func add(_ id: UInt64, _ entry: Entry) -> Bool {
    let count = count
    let slot = Self.slot(of: id, at: newPlace(of: id))
    guard self.count > count else { return false }
    entries[slot] = entry
    return true
  }

  /// The place of an id of which something is to be noted; it counts as known.
  @inline(__always)
  private mutating func newPlace(of id: UInt64) -> Int {
    let place = place(of: id) ?? addBlock(of: id)
    if entries[Self.slot(of: id, at: place)].isNone {
      known[place] += 1
      count += 1
    }
    return place
  }

  /// Forgets a task, and returns what was known of it. Expected O(1).
  @discardableResult @inline(__always)
  mutating func remove(_ id: UInt64) -> Entry {
    guard count > 0, let place = place(of: id) else { return .none }
    let slot = Self.slot(of: id, at: place)
    let entry = entries[slot]
    guard !entry.isNone else { return entry }
    entries[slot] = .none
    count -= 1
    known[place] -= 1
    if known[place] == 0 { removeBlock(at: place) }
    return entry
  }

  /// All entries. O(n).
  var all: [Entry] {
    var all: [Entry] = []
    for place in 0..<length where blocks[place] != 0 {
      for slot in place << Int(Self.blockBits)..<(place + 1) << Int(Self.blockBits) {
        let entry = entries[slot]
        if !entry.isNone { all.append(entry) }
      }
    }
    return all
  }

  mutating func removeAll() {
    self = TaskTable()
  }

  // MARK: - Blocks

  @_transparent
  private static func slot(of id: UInt64, at place: Int) -> Int {
    place << Int(blockBits) | Int(truncatingIfNeeded: id) & (blockLength - 1)
  }

  /// The place where the search for a block begins.
  @_transparent
  private func home(of block: UInt64) -> Int {
    // Multiplied by 2^64 divided by the golden ratio, neighbours land far apart (Knuth, The Art of
    // Computer Programming, volume 3, section 6.4).
    let mixed = block &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: mixed >> 32) & (length - 1)
  }

  /// The place of an id's block, if anything is known of it.
  private func place(of id: UInt64) -> Int? {
    guard usedBlocks > 0 else { return nil }
    let block = id >> Self.blockBits + 1
    var place = home(of: block)
    while blocks[place] != block {
      if blocks[place] == 0 { return nil }
      place = (place + 1) & (length - 1)
    }
    return place
  }

  private mutating func addBlock(of id: UInt64) -> Int {
    if usedBlocks * 2 >= length { grow() }
    usedBlocks += 1
    let place = emptyPlace(for: id >> Self.blockBits + 1)
    blocks[place] = id >> Self.blockBits + 1
    return place
  }

  private func emptyPlace(for block: UInt64) -> Int {
    var place = home(of: block)
    while blocks[place] != 0 { place = (place + 1) & (length - 1) }
    return place
  }

  /// Takes out a block of which nothing is known any more.
  private mutating func removeBlock(at emptied: Int) {
    let mask = length - 1
    // Whatever comes behind moves up, unless it would then stand before the place where the search
    // for it begins.
    var place = emptied
    var next = (place + 1) & mask
    while blocks[next] != 0 {
      if (next &- home(of: blocks[next])) & mask >= (next &- place) & mask {
        moveBlock(from: next, to: place)
        place = next
      }
      next = (next + 1) & mask
    }
    blocks[place] = 0
    usedBlocks -= 1
  }

  /// Moves a block to a place of whose ids nothing is known.
  private mutating func moveBlock(from old: Int, to new: Int) {
    blocks[new] = blocks[old]
    known[new] = known[old]
    known[old] = 0
    for slot in 0..<Self.blockLength {
      entries[new << Int(Self.blockBits) | slot] = entries[old << Int(Self.blockBits) | slot]
      entries[old << Int(Self.blockBits) | slot] = .none
    }
  }

  private mutating func grow() {
    let old = (blocks: blocks, known: known, entries: entries, length: length)
    length = length == 0 ? 2 : length * 2
    blocks = .allocate(capacity: length)
    blocks.initialize(repeating: 0, count: length)
    known = .allocate(capacity: length)
    known.initialize(repeating: 0, count: length)
    entries = .allocate(capacity: length << Int(Self.blockBits))
    entries.initialize(repeating: .none, count: length << Int(Self.blockBits))
    guard let oldBlocks = old.blocks, let oldKnown = old.known, let oldEntries = old.entries else {
      return
    }
    for place in 0..<old.length where oldBlocks[place] != 0 {
      let new = emptyPlace(for: oldBlocks[place])
      blocks[new] = oldBlocks[place]
      known[new] = oldKnown[place]
      for slot in 0..<Self.blockLength {
        entries[new << Int(Self.blockBits) | slot] = oldEntries[place << Int(Self.blockBits) | slot]
      }
    }
    Self.free(oldBlocks, oldKnown, oldEntries, old.length)
  }

  // MARK: - Invariants

  /// Stops the program if the table is out of order. O(n); for tests.
  func checkInvariants() {
    var seen = 0
    for place in 0..<length {
      let slots = place << Int(Self.blockBits)..<(place + 1) << Int(Self.blockBits)
      let marked = slots.count { !entries[$0].isNone }
      precondition(marked == Int(known[place]), "miscounted ids of a block")
      precondition((blocks[place] == 0) == (marked == 0), "a block without ids, or ids without one")
      if blocks[place] != 0 {
        precondition(self.place(of: (blocks[place] - 1) << Self.blockBits) == place, "a lost block")
      }
      seen += marked
    }
    precondition(seen == count, "miscounted ids")
    precondition(usedBlocks * 2 <= max(length, 1), "a table too full")
  }
}

/// Something about a task; none stands for nothing.
protocol TaskTableEntry {
  static var none: Self { get }
  var isNone: Bool { get }
}

/// The owner of each task that has been seen.
typealias OwnerTable = TaskTable<OwnerMark>

/// An owner in a word: its address, or 0 for none.
struct OwnerMark: TaskTableEntry, Equatable {
  static let none = OwnerMark(word: 0)

  private let word: UInt

  var isNone: Bool { word == 0 }

  private init(word: UInt) { self.word = word }

  init(_ owner: TaskOwner) {
    word = UInt(bitPattern: Unmanaged.passUnretained(owner).toOpaque())
  }

  var owner: TaskOwner? {
    guard let pointer = UnsafeRawPointer(bitPattern: word) else { return nil }
    return Unmanaged<TaskOwner>.fromOpaque(pointer).takeUnretainedValue()
  }
}

extension OwnerTable {
  /// Whose a task is; `nil` if that is not known. Expected O(1).
  subscript(id: UInt64) -> TaskOwner? {
    let mark: OwnerMark = self[id]
    return mark.owner
  }

  /// Notes whose a task is. Expected O(1), amortized.
  ///
  /// The owner is not kept alive: whoever adds it removes it in time.
  mutating func set(_ id: UInt64, to owner: TaskOwner) { set(id, to: OwnerMark(owner)) }

  /// Forgets a task, if `owner` owns it. Expected O(1).
  mutating func remove(_ id: UInt64, of owner: TaskOwner) {
    if self[id] == OwnerMark(owner) { remove(id) }
  }
}
