import Testing

@testable import Clocks

/// Compares the queue of sleeps with a sorted list.
@Suite struct SleepQueueTests {
  @Test func aReservedNumberDeterminesTheOrder() {
    var queue = SleepQueue<Int>()
    let reserved = queue.reserveNumber()
    queue.add(.job(.none), until: 1, details: .init(registered: 0, clock: .test))
    queue.add(.job(.none), until: 1, details: .init(registered: 0, clock: .test), as: reserved)
    #expect(queue.pending.map(\.number) == [0, 1])
    #expect(queue.earliest?.number == reserved)
    queue.checkInvariants()
  }

  @Test(.repeated(20)) func equalsASortedList() async throws {
    let seed = UInt64(RepeatedTrait.number)
    var random = Randomness(state: seed)
    var queue = SleepQueue<Int>()
    var model: [(deadline: Int, number: UInt64, token: SleepQueue<Int>.Token)] = []
    var cancelled: [SleepQueue<Int>.Token] = []
    var number: UInt64 = 0
    // A sleeper without a task: nothing is resumed here.
    let sleeper = Sleeper.job(.none)
    for step in 0..<3_000 {
      switch UInt8.random(in: 0..<4, using: &random) {
      case 0, 1:
        let deadline = Int.random(in: 0..<50, using: &random)
        let token = queue.add(
          sleeper, until: deadline, details: .init(registered: step, task: nil, clock: .test))
        #expect(token.number == number)
        model.append((deadline, number, token))
        number += 1
      case 2:
        guard !model.isEmpty else { continue }
        let removed = model.remove(at: Int.random(in: 0..<model.count, using: &random))
        #expect(queue.cancel(removed.token) != nil)
        cancelled.append(removed.token)
      default:
        guard let first = model.min(by: { ($0.deadline, $0.number) < ($1.deadline, $1.number) })
        else {
          #expect(queue.earliestDeadline == nil)
          continue
        }
        #expect(queue.earliestDeadline == first.deadline)
        #expect(queue.pending.first?.number == first.number)
        _ = queue.popEarliest()
        model.removeAll { $0.number == first.number }
        cancelled.append(first.token)
      }
      // Cancelling a sleep that has ended has no effect.
      if let token = cancelled.randomElement(using: &random) { #expect(queue.cancel(token) == nil) }
      #expect(queue.count == model.count)
      if step % 100 == 0 {
        queue.checkInvariants()
        let order = model.sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
        #expect(queue.pending.map(\.number) == order.map(\.number))
      }
    }
  }
}
