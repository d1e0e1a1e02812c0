import ClocksSearch
import ClocksSupport
import Testing

@testable import Clocks

/// Compares the queue of sleeps with a sorted list.
@Suite struct SleepQueueTests {
  @Test func aReservedNumberDeterminesTheOrder() {
    var queue = SleepQueue()
    let reserved = queue.reserveNumber()
    let details = SleepQueue.Details(registered: .zero, clock: .test)
    queue.add(.job(.none), until: .seconds(1), details: details)
    queue.add(.job(.none), until: .seconds(1), details: details, as: reserved)
    #expect(queue.pending.map(\.number) == [0, 1])
    #expect(queue.first?.number == reserved)
    queue.checkInvariants()
  }

  @Test(.repeated(6)) func equalsASortedList() {
    compareWithASortedList(SleepQueue()) { .seconds($0) }
  }

  /// Without keys, the deadlines would be in the order of registration.
  @Test(.repeated(6)) func equalsASortedListOfCustomDurations() {
    let table = CustomDurationTable<Minutes>()
    compareWithASortedList(SleepQueue(table)) { table.key(for: Minutes(count: Double($0))) }
  }

  /// Few sleeps have a name or a tolerance, and slots are reused, so a slot often loses or gains them.
  private static func rareDetails(of number: UInt64) -> (name: String?, tolerance: Duration?) {
    (number % 5 == 0 ? "task \(number)" : nil, number % 7 == 0 ? .seconds(Int(number)) : nil)
  }

  private func compareWithASortedList(_ queue: consuming SleepQueue, instant: (Int) -> Duration) {
    let seed = UInt64(RepeatedTrait.number)
    var random = Mixer(seed: seed)
    var model: [(deadline: Int, key: Duration, number: UInt64, token: SleepQueue.Token)] = []
    var cancelled: [SleepQueue.Token] = []
    var number: UInt64 = 0
    // A sleeper without a task: nothing is resumed here.
    let sleeper = Sleeper.job(.none)
    for step in 0..<3_000 {
      switch UInt8.random(in: 0..<4, using: &random) {
      case 0, 1:
        let deadline = Int.random(in: 0..<50, using: &random)
        let key = instant(deadline)
        let rare = Self.rareDetails(of: number)
        let token = queue.add(
          sleeper, until: key, name: rare.name, tolerance: rare.tolerance,
          details: .init(registered: .seconds(Int(number)), clock: .continuous))
        #expect(token.number == number)
        model.append((deadline, key, number, token))
        number += 1
      case 2:
        guard !model.isEmpty else { continue }
        let removed = model.remove(at: Int.random(in: 0..<model.count, using: &random))
        let sleeper = queue.cancel(removed.token)
        #expect(sleeper != nil)
        #expect(queue.removed?.number == removed.number)
        cancelled.append(removed.token)
      default:
        let earliest = queue.earliestDeadline
        guard let first = model.min(by: { ($0.deadline, $0.number) < ($1.deadline, $1.number) })
        else {
          #expect(earliest == nil)
          continue
        }
        #expect(earliest == first.key)
        #expect(queue.pending.first?.number == first.number)
        _ = queue.popEarliest()
        model.removeAll { $0.number == first.number }
        cancelled.append(first.token)
      }
      // Cancelling a sleep that has ended has no effect.
      if let token = cancelled.randomElement(using: &random) {
        let sleeper = queue.cancel(token)
        #expect(sleeper == nil)
      }
      #expect(queue.count == model.count)
      if step % 100 == 0 {
        queue.checkInvariants()
        let order = model.sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
        let pending = queue.pending
        #expect(pending.map(\.number) == order.map(\.number))
        for sleep in pending {
          let rare = Self.rareDetails(of: sleep.number)
          #expect(sleep.taskName == rare.name)
          #expect(sleep.tolerance == rare.tolerance)
          #expect(sleep.details.registered == .seconds(Int(sleep.number)))
        }
        let now = Int.random(in: 0..<50, using: &random)
        var due = ScratchBuffer<Candidate>()
        queue.appendCandidates(dueBy: instant(now), to: &due)
        let expected = order.filter { $0.deadline <= now }
        #expect(due.all == expected.map { .sleep(number: $0.number, task: 0) })
      }
    }
  }
}
