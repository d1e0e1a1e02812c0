import Testing

@testable import TimeoutTask

@Suite struct WaiterQueueTests {
  @Test func waitersAreInTheOrderOfTheirTickets() {
    var queue = WaiterQueue<Int>()
    let tickets = (0..<8).map { _ in queue.takeTicket() }
    for number in [3, 0, 1, 7, 6, 2, 5, 4] { queue.add(number, with: tickets[number]) }
    #expect(queue.all == Array(0..<8))
    #expect(queue.all.count == 8)
  }

  @Test func aWaiterIsRemovedOnce() {
    var queue = WaiterQueue<Int>()
    let tickets = (0..<3).map { _ in queue.takeTicket() }
    for number in 0..<3 { queue.add(number, with: tickets[number]) }
    #expect(queue.remove(tickets[1]) == 1)
    #expect(queue.remove(tickets[1]) == nil)
    #expect(queue.all == [0, 2])
    #expect(!queue.isEmpty)
    #expect(queue.remove(tickets[2]) == 2)
    #expect(queue.remove(tickets[0]) == 0)
    #expect(queue.isEmpty)
    #expect(queue.all == [])
  }

  @Test func aTicketWithoutAWaiterRemovesNothing() {
    var queue = WaiterQueue<Int>()
    let early = queue.takeTicket()
    let late = queue.takeTicket()
    queue.add(1, with: late)
    #expect(queue.remove(early) == nil)
    queue.add(0, with: early)
    #expect(queue.all == [0, 1])
  }

  @Test func removingWaitersInAnyOrderKeepsTheOrder() {
    var generator = Seeded(state: 1)
    for _ in 0..<100 {
      var queue = WaiterQueue<Int>()
      let tickets = (0..<64).map { _ in queue.takeTicket() }
      for number in 0..<64 { queue.add(number, with: tickets[number]) }
      var rest = Set(0..<64)
      for number in (0..<64).shuffled(using: &generator).prefix(60) {
        #expect(queue.remove(tickets[number]) == number)
        rest.remove(number)
        #expect(queue.all.count == rest.count)
        #expect(queue.all == rest.sorted())
      }
    }
  }

  @Test func removedWaitersTakeNoMemory() {
    var queue = WaiterQueue<Int>()
    for number in 0..<10_000 {
      let ticket = queue.takeTicket()
      queue.add(number, with: ticket)
      if number >= 10 { #expect(queue.remove(ticket) == number) }
    }
    #expect(queue.all == Array(0..<10))
    let fields = Mirror(reflecting: queue).children.map { Mirror(reflecting: $0.value) }
    #expect(fields.map(\.children.count).reduce(0, +) == 10)
  }
}
