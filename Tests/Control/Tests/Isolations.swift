import Dispatch
import Foundation
import Testing

#if canImport(ClocksTestKit)
  import Clocks
  import ClocksTestKit

  let inScope = VirtualTimeTrait.virtualTime

  private func afterASleep(_ body: @escaping @Sendable () async -> Void) async {
    let clock = TestClock()
    let task = Task {
      try? await clock.sleep(for: .seconds(1))
      await body()
    }
    await clock.advance(by: .seconds(1))
    await task.value
  }
#else
  struct NoTrait: TestTrait {}

  let inScope = NoTrait()

  private func afterASleep(_ body: @escaping @Sendable () async -> Void) async {
    let task = Task {
      try? await Task.sleep(for: .milliseconds(1))
      await body()
    }
    await task.value
  }
#endif

// Where code of each isolation runs. Scripts/control compares what both bundles print: with Clocks, only time may
// differ.

private let mainKey: DispatchSpecificKey<Bool> = {
  let key = DispatchSpecificKey<Bool>()
  DispatchQueue.main.setSpecific(key: key, value: true)
  return key
}()

private enum Tag {
  @TaskLocal static var name = "none"
}

/// Describes the place of the caller.
///
/// On the main queue, the checks of Dispatch and of the main actor have to pass; elsewhere, the main thread must
/// not run it.
private func place(_ isolation: (any Actor)?) -> String {
  let isOnMain = DispatchQueue.getSpecific(key: mainKey) == true
  dispatchPrecondition(condition: isOnMain ? .onQueue(.main) : .notOnQueue(.main))
  if isOnMain { MainActor.assumeIsolated {} }
  isolation?.preconditionIsolated()
  let thread = !isOnMain && Thread.isMainThread ? "the main thread" : isOnMain ? "main" : "pool"
  let actor = isolation.map { "\(type(of: $0))" } ?? "none"
  return "\(thread), \(actor), \(Task.currentPriority.rawValue), \(Tag.name)"
}

@globalActor private actor Global {
  static let shared = Global()
}

private actor Plain {
  func here() -> String { place(#isolation) }

  func afterMain() async -> String {
    await MainActor.run {}
    return place(#isolation)
  }
}

private final class QueueExecutor: SerialExecutor, TaskExecutor {
  private let queue = DispatchQueue(label: "executor")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async {
      job.runSynchronously(
        isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
    }
  }
}

private actor OnQueue {
  private let executor = QueueExecutor()

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func here() -> String { place(#isolation) }
}

@concurrent private func concurrent() async -> String { place(#isolation) }

nonisolated(nonsending) private func inherited() async -> String { place(#isolation) }

@MainActor private func main() -> String { place(#isolation) }

@Global private func global() async -> String { await inherited() }

private func rows() async -> [(String, String)] {
  let (plain, onQueue, executor) = (Plain(), OnQueue(), QueueExecutor())
  var rows: [(String, String)] = []
  rows.append(("concurrent", await concurrent()))
  rows.append(("inherited", await inherited()))
  rows.append(("main actor", await main()))
  rows.append(("concurrent after main", await concurrent()))
  rows.append(("global actor", await global()))
  rows.append(("actor", await plain.here()))
  rows.append(("actor after main", await plain.afterMain()))
  rows.append(("actor on a queue", await onQueue.here()))
  rows.append(("task", await Task { place(#isolation) }.value))
  rows.append(("task on main", await Task { @MainActor in await inherited() }.value))
  rows.append(("task on main, concurrent", await Task { @MainActor in await concurrent() }.value))
  rows.append(("task on a global actor", await Task { @Global in place(#isolation) }.value))
  rows.append(("detached", await Task.detached { place(#isolation) }.value))
  rows.append(("detached, low", await Task.detached(priority: .low) { Tag.name }.value))
  let low = Task(priority: .background) { () -> String in
    "\(Task.basePriority?.rawValue ?? 0) \(place(#isolation).hasPrefix("pool"))"
  }
  rows.append(("background", await low.value))
  rows.append(("preference", await withTaskExecutorPreference(executor) { await concurrent() }))
  rows.append(
    (
      "task with a preference", await Task(executorPreference: executor) { place(#isolation) }.value
    ))
  async let child = concurrent()
  rows.append(("async let", await child))
  await withTaskGroup(of: String.self) { group in
    group.addTask { place(#isolation) }
    group.addTask { @MainActor in place(#isolation) }
    var places: [String] = []
    for await place in group { places.append(place) }
    rows.append(("group", places.sorted().joined(separator: " and ")))
  }
  await Tag.$name.withValue("inner") {
    rows.append(("task-local", await concurrent()))
    rows.append(("task-local, actor", await plain.afterMain()))
    rows.append(("task-local, task", await Task { @MainActor in main() }.value))
    rows.append(("task-local, detached", await Task.detached { place(#isolation) }.value))
  }
  return rows
}

/// Prints the places of 50 rounds, which must all be equal.
private func printTable(_ title: String) async {
  var places: [String: Set<String>] = [:]
  for _ in 0..<50 {
    await Tag.$name.withValue("outer") {
      for (row, place) in await rows() { places[row, default: []].insert(place) }
    }
  }
  for (row, found) in places.sorted(by: { $0.key < $1.key }) {
    print("place: \(title) | \(row) | \(found.sorted().joined(separator: " or "))")
  }
}

@Suite(.serialized) struct Isolations {
  @Test func withoutAScope() async { await printTable("without a scope") }

  @Test(inScope) func inAScope() async { await printTable("in a scope") }

  @MainActor @Test(inScope) func onTheMainActor() async { await printTable("on the main actor") }

  @Test func onATestClock() async { await afterASleep { await printTable("on a test clock") } }
}
