import ClocksSupport

/// A table with one entry per task id.
///
/// A hash table with open addressing over blocks of 16 consecutive ids: tasks that start together share
/// blocks. Single ids would form long runs, and every failed search and removal would walk along one. All
/// operations on one id are expected O(1), amortized where the table grows.
///
/// The smallest functions are transparent and the memory is not an Array, so that a debug build calls no
/// generic function per operation.
struct TaskTable<Entry: TaskTableEntry>: ~Copyable {
  private let isPassedByAddress = PassedByAddress()
  @_transparent
  private static var blockBits: UInt64 { 4 }
  @_transparent
  private static var blockLength: Int { 1 << Int(blockBits) }

  /// The number of places for blocks, a power of two or zero. At most half are in use, so that searches are short.
  private(set) var length = 0
  /// For each place the number of its block plus 1, or 0 if it is empty.
  private var blocks: UnsafeMutablePointer<UInt64>!
  /// For each place the number of entries in its block; at least 1 where there is a block.
  private var known: UnsafeMutablePointer<UInt8>!
  private var entries: UnsafeMutablePointer<Entry>!
  private var usedBlocks = 0
  private(set) var count = 0

  init() {}

  private init(length: Int) {
    self.length = length
    blocks = .allocate(capacity: length)
    blocks.initialize(repeating: 0, count: length)
    known = .allocate(capacity: length)
    known.initialize(repeating: 0, count: length)
    entries = .allocate(capacity: length << Int(Self.blockBits))
    entries.initialize(repeating: .none, count: length << Int(Self.blockBits))
  }

  deinit {
    blocks?.deallocate()
    known?.deallocate()
    entries?.deinitialize(count: length << Int(Self.blockBits))
    entries?.deallocate()
  }

  @inline(__always)
  subscript(id: UInt64) -> Entry {
    guard count > 0, let place = place(of: id) else { return .none }
    return entries[Self.slot(of: id, at: place)]
  }

  /// The address of an entry, valid until an entry is set or removed. Unlike a copy it retains nothing.
  ///
  /// An entry that is changed at its address must neither become `none` nor stop being `none`.
  @_transparent
  func address(of id: UInt64) -> UnsafeMutablePointer<Entry>? {
    guard count > 0, let place = place(of: id) else { return nil }
    return entries + Self.slot(of: id, at: place)
  }

  /// Sets an entry, which must not be `none`. Expected O(1), amortized.
  @_transparent
  mutating func set(_ id: UInt64, to entry: Entry) {
    let slot = Self.slot(of: id, at: newPlace(of: id))
    entries[slot] = entry
  }

  /// Sets an entry, as `set` does, and returns the previous one.
  @_transparent
  mutating func replace(_ id: UInt64, by entry: Entry) -> Entry {
    let slot = Self.slot(of: id, at: newPlace(of: id))
    let old = entries[slot]
    entries[slot] = entry
    return old
  }

  /// Sets an entry unless the id has one. Returns whether the id had none.
  @_transparent
  mutating func add(_ id: UInt64, _ entry: Entry) -> Bool {
    let count = count
    let slot = Self.slot(of: id, at: newPlace(of: id))
    guard self.count > count else { return false }
    entries[slot] = entry
    return true
  }

  /// Returns the place for an entry that is about to be set, and counts it.
  @_transparent
  private mutating func newPlace(of id: UInt64) -> Int {
    let place = place(of: id) ?? addBlock(of: id)
    if entries[Self.slot(of: id, at: place)].isNone {
      known[place] += 1
      count += 1
    }
    return place
  }

  @discardableResult @_transparent
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

  var all: [Entry] {
    var all: [Entry] = []
    visitAll { all.append($0) }
    return all
  }

  /// Calls `body` with each entry, in no particular order. `body` must not change the table. O(`length`).
  @_transparent
  func visitAll(_ body: (Entry) -> Void) {
    var place = 0
    var left = count
    while left > 0 {
      var slot = place << Int(Self.blockBits)
      place += 1
      guard blocks[place - 1] != 0 else { continue }
      while slot < place << Int(Self.blockBits) {
        if !entries[slot].isNone {
          left -= 1
          body(entries[slot])
        }
        slot += 1
      }
    }
  }

  // MARK: - Blocks

  @_transparent
  private static func slot(of id: UInt64, at place: Int) -> Int {
    place << Int(blockBits) | Int(truncatingIfNeeded: id) & (blockLength - 1)
  }

  /// The place at which the search for a block begins.
  @_transparent
  private func home(of block: UInt64) -> Int {
    // Fibonacci hashing spreads neighbours (Knuth, The Art of Computer Programming, volume 3, 6.4).
    let mixed = block &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: mixed >> 32) & (length - 1)
  }

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
    if usedBlocks * 2 >= length { resize(to: max(2, length * 2)) }
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

  private mutating func removeBlock(at emptied: Int) {
    let mask = length - 1
    // Backward shift deletion: each block after the gap moves into it, unless that place is before the block's `home`,
    // where the search for the block begins.
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

  private mutating func moveBlock(from old: Int, to new: Int) {
    blocks[new] = blocks[old]
    known[new] = known[old]
    known[old] = 0
    let source = entries + Self.slot(of: 0, at: old)
    (entries + Self.slot(of: 0, at: new)).update(from: source, count: Self.blockLength)
    source.update(repeating: .none, count: Self.blockLength)
  }

  /// Frees memory if few places are in use, so that `visitAll` takes time only for the present entries.
  ///
  /// O(`length`) if it does; amortized O(1) for each entry that was removed.
  mutating func shrink() {
    guard length > 64, usedBlocks * 16 < length else { return }
    var shorter = length
    while shorter > 64, usedBlocks * 4 < shorter { shorter /= 2 }
    resize(to: shorter)
  }

  private mutating func resize(to length: Int) {
    var other = TaskTable(length: length)
    for place in 0..<self.length where blocks[place] != 0 {
      let new = other.emptyPlace(for: blocks[place])
      other.blocks[new] = blocks[place]
      other.known[new] = known[place]
      (other.entries + Self.slot(of: 0, at: new))
        .update(from: entries + Self.slot(of: 0, at: place), count: Self.blockLength)
    }
    (other.usedBlocks, other.count) = (usedBlocks, count)
    self = other
  }

  /// Stops the program if an invariant does not hold. O(n); for tests.
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

/// An entry of a `TaskTable`; `none` stands for no entry.
protocol TaskTableEntry {
  static var none: Self { get }
  var isNone: Bool { get }
}

typealias OwnerTable = TaskTable<OwnerMark>

/// An owner, which is not retained.
struct OwnerMark: TaskTableEntry {
  static var none: OwnerMark { OwnerMark(owner: nil) }

  unowned(unsafe) let owner: TaskOwner?

  // The word is compared, because reading `owner` would retain it.
  var isNone: Bool { unsafeBitCast(self, to: UInt.self) == 0 }
}

extension OwnerTable {
  subscript(id: UInt64) -> TaskOwner? {
    let mark: OwnerMark = self[id]
    return mark.owner
  }

  mutating func set(_ id: UInt64, to owner: TaskOwner) { set(id, to: OwnerMark(owner: owner)) }

  mutating func remove(_ id: UInt64, of owner: TaskOwner) {
    if self[id] === owner { remove(id) }
  }
}
