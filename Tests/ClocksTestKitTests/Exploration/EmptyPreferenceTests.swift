import Clocks
import ClocksTestKit
import TestTraits
import Testing

private actor Counter {
  private(set) var value = 0

  func get() -> Int { value }

  func set(_ value: Int) { self.value = value }
}

/// Tasks whose creation states a preference for no executor: a search orders their hops like those of other tasks.
@Suite struct EmptyPreferenceTests {
  enum Creation: CaseIterable {
    case plain, immediate, immediateThrowing, immediateDetached, preferringNone,
      detachedPreferringNone
    case named, asyncLetOfImmediate

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    func begin(_ work: @escaping @Sendable () async -> Void) -> Task<Void, any Error> {
      switch self {
      case .plain: return Task { () throws in await work() }
      case .immediate:
        let task = Task.immediate { await work() }
        return Task { () throws in await task.value }
      case .immediateThrowing: return Task.immediate { () throws in await work() }
      case .immediateDetached: return Task.immediateDetached { () throws in await work() }
      case .preferringNone: return Task(executorPreference: nil) { () throws in await work() }
      case .detachedPreferringNone:
        return Task.detached(executorPreference: nil) { () throws in await work() }
      case .named: return Task(name: "named", executorPreference: nil) { () throws in await work() }
      case .asyncLetOfImmediate:
        return Task.immediate { () throws in
          async let child: Void = work()
          await child
        }
      }
    }
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test(arguments: Creation.allCases) func aSearchFindsALostUpdate(_ creation: Creation)
    async throws
  {
    let outcomes = Log<Int>()
    try await withSchedules(400) { _ in
      let counter = Counter()
      @Sendable func increment() async {
        try? await Task.sleep(for: .seconds(1))
        let value = await counter.get()
        await counter.set(value + 1)
      }
      let (first, second) = (creation.begin(increment), creation.begin(increment))
      _ = await (first.result, second.result)
      outcomes.add(await counter.value)
    }
    #expect(Set(outcomes.all) == [1, 2])
  }

  /// In a search, too, such a task begins in the job of its creator.
  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func anImmediateTaskBeginsImmediately() async throws {
    let orders = Log<[Int]>()
    let summary = try await withSchedules(100) { _ in
      let log = Log<Int>()
      let task = Task.immediate {
        log.add(1)
        await Task.yield()
        log.add(3)
      }
      log.add(2)
      await task.value
      orders.add(log.all)
    }
    #expect(Set(orders.all) == [[1, 2, 3]])
    #expect(summary != nil)
  }
}
