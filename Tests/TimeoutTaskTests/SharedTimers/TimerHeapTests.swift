import Testing

@testable import TimeoutTask

/// The heap of deadlines, and its comparison with a model: a sorted array.
@Suite struct TimerHeapTests {
  private final class Number: Alarm {
    let number: Int
    init(_ number: Int) { self.number = number }
    func ring() {}
  }

  private func numbers(_ alarms: [any Alarm]) -> [Int] {
    alarms.map { ($0 as? Number)?.number ?? -1 }
  }

  @Test func theFirstDeadlineComesFirst() {
    var heap = TimerHeap()
    for deadline in [5, 3, 9, 1, 7] { _ = heap.add(Int64(deadline), slack: 0, Number(deadline)) }
    #expect(heap.first()?.deadline == 1)
    #expect(numbers(heap.takePassed(at: 0)) == [])
    #expect(numbers(heap.takePassed(at: 5)) == [1, 3, 5])
    #expect(heap.count == 2)
    #expect(numbers(heap.takePassed(at: .max)) == [7, 9])
    #expect(heap.first() == nil)
  }

  @Test func aRemovedAlarmDoesNotRingAndIsReleased() {
    var heap = TimerHeap()
    weak var gone: Number?
    let ticket: TimerHeap.Ticket
    do {
      let alarm = Number(1)
      gone = alarm
      ticket = heap.add(1, slack: 0, alarm)
    }
    _ = heap.add(2, slack: 0, Number(2))
    #expect(gone != nil)
    #expect(heap.remove(ticket) === gone)
    #expect(gone == nil)
    #expect(heap.remove(ticket) == nil)
    #expect(heap.first()?.deadline == 2)
    #expect(numbers(heap.takePassed(at: 9)) == [2])
  }

  @Test func anOldTicketRemovesNothing() {
    var heap = TimerHeap()
    let old = heap.add(1, slack: 0, Number(1))
    #expect(numbers(heap.takePassed(at: 1)) == [1])
    // Has the index of the first one.
    let new = heap.add(2, slack: 0, Number(2))
    #expect(heap.remove(old) == nil)
    #expect(heap.count == 1)
    #expect(heap.remove(new) != nil)
  }

  @Test func toleranceLetsADeadlineWaitForOthersWithinItsSlack() {
    var heap = TimerHeap()
    _ = heap.add(10, slack: 50, Number(1))
    _ = heap.add(20, slack: 0, Number(2))
    // The latest instant of the second deadline comes first. By then, the first deadline has
    // passed, too.
    var first = heap.first()
    #expect(first?.deadline == 20 && first?.slack == 0)
    #expect(numbers(heap.takePassed(at: 20)) == [2, 1])
    _ = heap.add(10, slack: 50, Number(3))
    first = heap.first()
    #expect(first?.deadline == 10 && first?.slack == 50)
    // No alarm is returned before its deadline, whatever its slack.
    #expect(numbers(heap.takePassed(at: 9)) == [])
    #expect(numbers(heap.takePassed(at: 10)) == [3])
  }

  @Test func removedDeadlinesDoNotAccumulate() {
    var heap = TimerHeap()
    _ = heap.add(1_000_000, slack: 0, Number(0))
    var largest = 0
    for number in 1...100_000 {
      let ticket = heap.add(Int64(number), slack: 0, Number(number))
      _ = heap.remove(ticket)
      largest = max(largest, heap.size)
    }
    #expect(largest == 65)
    #expect(heap.count == 1)
  }

  @Test func removingMostDeadlinesKeepsTheOrder() {
    var heap = TimerHeap()
    var random = Seeded(state: 1)
    let deadlines = Array(1...2_000).shuffled(using: &random)
    let tickets = deadlines.map { heap.add(Int64($0), slack: 0, Number($0)) }
    for index in 0..<1_500 { _ = heap.remove(tickets[index]) }
    #expect(heap.size == 999)
    #expect(numbers(heap.takePassed(at: 2_000)) == deadlines[1_500...].sorted())
  }

  @Test(arguments: 0..<20) func randomOperationsAgreeWithTheModel(_ seed: UInt64) {
    var random = Seeded(state: seed)
    var heap = TimerHeap()
    /// In the order of the latest instants.
    var model: [(deadline: Int64, slack: Int64, number: Int, ticket: TimerHeap.Ticket)] = []
    /// Deadlines are multiples of this.
    ///
    /// The remainder of a latest instant is the number of its deadline, so no two are equal.
    let unit: Int64 = 4096
    var now: Int64 = 0
    for number in 0..<3_000 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<6:
        let deadline = now + .random(in: 0..<1_000, using: &random) * unit
        let slack = .random(in: 0..<300, using: &random) * unit + Int64(number)
        let ticket = heap.add(deadline, slack: slack, Number(number))
        model.append((deadline, slack, number, ticket))
        model.sort { $0.deadline + $0.slack < $1.deadline + $1.slack }
      case 6..<9 where !model.isEmpty:
        let victim = model.remove(at: .random(in: 0..<model.count, using: &random))
        #expect((heap.remove(victim.ticket) as? Number)?.number == victim.number)
        #expect(heap.remove(victim.ticket) == nil)
      default:
        now += .random(in: 0..<200, using: &random) * unit
        let passed = model.prefix { $0.deadline <= now }.map(\.number)
        model.removeFirst(passed.count)
        #expect(numbers(heap.takePassed(at: now)) == passed)
      }
      let first = heap.first()
      #expect(heap.count == model.count)
      #expect(first?.deadline == model.first?.deadline && first?.slack == model.first?.slack)
    }
  }
}
