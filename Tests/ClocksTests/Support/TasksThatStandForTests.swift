import Clocks

/// Calls `use` with a clock of a task that runs until then. The task stands for a test.
func withClockOfATask(
  fileID: StaticString = #fileID, line: UInt = #line, _ use: (TestClock<Duration>) async -> Void
) async {
  let clocks = AsyncStream.makeStream(of: TestClock<Duration>.self)
  let end = AsyncStream.makeStream(of: Void.self)
  let task = Task {
    clocks.continuation.yield(TestClock(fileID: fileID, line: line))
    for await _ in end.stream {}
  }
  for await clock in clocks.stream {
    await use(clock)
    break
  }
  end.continuation.finish()
  await task.value
}

/// Runs the body in a task that makes a clock of its own, and so stands for a test.
func inATaskWithAClock(_ body: @escaping @Sendable () async -> Void) async {
  await Task {
    let own = TestClock()
    await body()
    withExtendedLifetime(own) {}
  }.value
}
