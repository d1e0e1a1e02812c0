// Compares the clock's queue of sleeps, a heap with four children per entry, with a radix heap, without
// tasks. Docs/Performance.md has the conclusion.
//
//     swift run -c release --package-path Benchmarks Queues

/// The heap of `SleepQueue`.
struct FourAryHeap {
  struct Entry {
    var deadline: Duration
    var number: UInt64
    var slot: Int32
  }

  private var heap: [Entry] = []
  private var positions: [Int32]

  init(_ count: Int) { positions = [Int32](repeating: 0, count: count) }

  private static func comesFirst(_ first: Entry, _ second: Entry) -> Bool {
    first.deadline < second.deadline
      || (first.deadline == second.deadline && first.number < second.number)
  }

  private mutating func place(_ entry: Entry, at position: Int) {
    heap[position] = entry
    positions[Int(entry.slot)] = Int32(truncatingIfNeeded: position)
  }

  mutating func push(_ entry: Entry) {
    heap.append(entry)
    var position = heap.count - 1
    while position > 0 {
      let parent = (position - 1) >> 2
      guard Self.comesFirst(entry, heap[parent]) else { break }
      place(heap[parent], at: position)
      position = parent
    }
    place(entry, at: position)
  }

  mutating func pop() -> Entry? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    guard !heap.isEmpty else { return first }
    var position = 0
    while position << 2 + 1 < heap.count {
      var child = position << 2 + 1
      for sibling in child + 1..<max(child + 1, min(child + 4, heap.count))
      where Self.comesFirst(heap[sibling], heap[child]) {
        child = sibling
      }
      guard Self.comesFirst(heap[child], last) else { break }
      place(heap[child], at: position)
      position = child
    }
    place(last, at: position)
    return first
  }
}

/// A radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, 1990).
///
/// A key's bucket is the highest bit in which it differs from the key removed last. No key may be
/// earlier than that one.
struct RadixHeap {
  struct Entry {
    var key: UInt64
    var number: UInt64
    var slot: Int32
  }

  private var buckets = [[Entry]](repeating: [], count: 65)
  private var last: UInt64 = 0
  private var head = 0
  private var count = 0
  private var positions: [Int64]

  init(_ count: Int) { positions = [Int64](repeating: 0, count: count) }

  private mutating func place(_ entry: Entry) {
    let bucket = entry.key == last ? 0 : 64 - (entry.key ^ last).leadingZeroBitCount
    positions[Int(entry.slot)] = Int64(bucket) << 32 | Int64(buckets[bucket].count)
    buckets[bucket].append(entry)
  }

  mutating func push(_ entry: Entry) {
    place(entry)
    count += 1
  }

  mutating func pop() -> Entry? {
    guard count > 0 else { return nil }
    if head == buckets[0].count { refill() }
    defer {
      head += 1
      count -= 1
    }
    return buckets[0][head]
  }

  private mutating func refill() {
    buckets[0].removeAll(keepingCapacity: true)
    head = 0
    let next = buckets.firstIndex { !$0.isEmpty }!
    let moved = buckets[next]
    buckets[next].removeAll(keepingCapacity: true)
    last = moved.lazy.map(\.key).min()!
    for entry in moved { place(entry) }
    if buckets[0].count > 1 { buckets[0].sort { $0.number < $1.number } }
  }
}

let clock = ContinuousClock()

/// Returns the nanoseconds to insert and to remove each of `count` entries.
func times(
  _ keys: [UInt64], _ push: (Int, UInt64) -> Void, _ pop: () -> UInt64?
) -> (Double, Double) {
  let pushing = clock.measure { for (number, key) in keys.enumerated() { push(number, key) } }
  var sum: UInt64 = 0
  let popping = clock.measure { while let number = pop() { sum += number } }
  precondition(sum == UInt64(keys.count * (keys.count - 1) / 2), "an entry is lost")
  let nanoseconds = [pushing, popping].map { $0 / .nanoseconds(1) / Double(keys.count) }
  return (nanoseconds[0], nanoseconds[1])
}

print("      n    heap: push   pop    radix heap: push   pop   (ns, medians of 9)")
for count in [1_000, 10_000, 100_000, 1_000_000] {
  var rounds: [[Double]] = []
  for _ in 0..<9 {
    let keys = (1...UInt64(count)).map { $0 * 1_000_000 }.shuffled()
    var heap = FourAryHeap(count)
    let four = times(keys) {
      heap.push(.init(deadline: .nanoseconds(Int64($1)), number: UInt64($0), slot: Int32($0)))
    } _: {
      heap.pop()?.number
    }
    var radix = RadixHeap(count)
    let other = times(keys) {
      radix.push(.init(key: $1, number: UInt64($0), slot: Int32($0)))
    } _: {
      radix.pop()?.number
    }
    rounds.append([four.0, four.1, other.0, other.1])
  }
  let medians = (0..<4).map { column in Int(rounds.map { $0[column] }.sorted()[4]) }
  func column(_ number: Int, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: " ", count: max(0, width - text.count)) + text
  }
  print(
    column(count, 7), column(medians[0], 13), column(medians[1], 5), column(medians[2], 19),
    column(medians[3], 5))
}
