extension TestClock {
  /// Says what each task of the test waits for at this moment, and where: a text for a person.
  ///
  /// ```swift
  /// let clock = TestClock()
  /// let poller = Task(name: "poller") { await Poller(clock).poll() }
  /// await clock.settle()
  /// print(clock.dump())
  /// ```
  ///
  /// prints
  ///
  /// ```
  /// Where the test's 2 tasks are:
  /// - task #15 runs, and asks for this
  /// - task #33 "poller" sleeps until 2.0 seconds on TestClock
  ///     Poller.pause() at PollerTests.swift:7
  ///     Poller.poll() at PollerTests.swift:6
  ///     closure #1 in PollerTests.waits() at PollerTests.swift:20
  /// ```
  ///
  /// A task is named by its number and its name, and stands below its parent if it is a child. It sleeps
  /// until an instant on a clock; or it awaits the value of another task, its child tasks, or a
  /// continuation; or its turn on an actor; or it is ready to run. Tasks that wait for each other in a
  /// circle are named as one. Below each task is its async call stack, the innermost function first: the
  /// functions of the test and of what it uses, but not those of the test library, the runtime, and this
  /// package. Tasks that wait in the same place are summed up, and there are about forty lines at most.
  ///
  /// Every report of a test that is stuck has the same list.
  ///
  /// It may be called from anywhere, while other threads run; what runs at that moment is only said to.
  /// The lines of the source come from the build's debug information, which the toolchain's
  /// `llvm-symbolizer`, or `addr2line`, is started to read; where there is neither, functions are named
  /// alone, and the text says so. It also says if the runtime's records cannot be read: so on Apple's
  /// systems, and where ``SchedulerCapability/current`` is the lowest.
  ///
  /// O(tasks and the depth of their call stacks), and some 50 to 200 ms of real time for the names: for
  /// a test that fails, or a person. A test that does not ask pays nothing.
  ///
  /// The idea is that of Go's dump of goroutines, and of kotlinx-coroutines-debug.
  public func dump() -> String { scheduler.dumpText }
}
