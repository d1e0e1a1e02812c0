import Testing

@testable import Clocks

/// The exact texts of made-up dumps.
@Suite struct TaskDumpTests {
  private typealias Entry = TaskDump.Entry

  /// A task whose address and id are `id`.
  private static func task(
    _ id: UInt, _ state: TaskSnapshot.State = .suspended,
    awaits dependency: TaskSnapshot.Dependency? = .continuation, parent: UInt? = nil,
    children: [UInt] = [], name: String? = nil
  ) -> TaskSnapshot {
    TaskSnapshot(
      address: id, id: UInt64(id), name: name, state: state, dependency: dependency, parent: parent,
      children: children)
  }

  private static func text(
    _ entries: [Entry], missing: [String] = [], mostLines: Int = 40
  ) -> String {
    TaskDump(entries, missing: missing, images: CodeImages()).text(mostLines: mostLines)
  }

  @Test func aRecursionOfChildTasksIsListedToALimit() {
    let tasks: [TaskSnapshot] = (1...100_000).map { id in
      Self.task(id, awaits: .group(0), parent: id == 1 ? nil : id - 1)
    }
    let text = Self.text(tasks.map { Entry(task: $0) }, mostLines: 50)
    let lines = text.split(separator: "\n")
    #expect(lines.count == 42)
    #expect(lines[0] == "Where the test's 100000 tasks are:")
    #expect(lines[1] == "- task #1 awaits its child tasks")
    #expect(lines[2] == "  - child task #2 awaits its child tasks")
    #expect(lines[40].drop { $0 == " " } == "- child task #40 awaits its child tasks")
    #expect(lines[41] == "… and child tasks below")
  }

  @Test func eachStateHasItsWords() {
    let entries = [
      Entry(task: Self.task(1, .running), asks: true),
      Entry(task: Self.task(2, .running)),
      Entry(task: Self.task(3), sleep: "until 3.0 seconds on TestClock"),
      Entry(task: Self.task(4, awaits: .task(3), name: "reader")),
      Entry(task: Self.task(5, awaits: .task(99))),
      Entry(task: Self.task(6, .enqueued, awaits: .executor(0))),
      Entry(task: Self.task(7, .enqueued, awaits: .executor(77)), actor: "the actor Store"),
      Entry(task: Self.task(8, awaits: .group(88))),
      Entry(task: Self.task(9)),
      Entry(task: Self.task(10, awaits: nil)),
    ]
    #expect(
      Self.text(entries.reversed()) == """
        Where the test's 10 tasks are:
        - task #1 runs, and requests this dump
        - task #2 runs
        - task #3 sleeps until 3.0 seconds on TestClock
        - task #4 "reader" awaits the value of task #3
        - task #5 awaits the value of a task that is not known
        - task #6 is ready to run
        - task #7 waits for its turn on the actor Store, while task #2 runs
        - task #8 awaits its child tasks
        - task #9 awaits a continuation
        - task #10 is suspended
        """)
  }

  @Test func theTaskThatHoldsAnActorIsNamedIfKnown() {
    let entries = [
      Entry(task: Self.task(2, .running, name: "writer"), holds: [77, 88]),
      Entry(task: Self.task(3, .enqueued, awaits: .executor(77)), actor: "the actor Store"),
      Entry(task: Self.task(4, .enqueued, awaits: .executor(99)), actor: "the actor Shop"),
    ]
    #expect(
      Self.text(entries) == """
        Where the test's 3 tasks are:
        - task #2 "writer" runs
        - task #3 waits for its turn on the actor Store, which task #2 "writer" holds
        - task #4 waits for its turn on the actor Shop, while task #2 "writer" runs
        """)
  }

  @Test func childrenStandBelowTheirParents() {
    let entries = [
      Entry(task: Self.task(1, awaits: .group(0), children: [3, 4])),
      Entry(task: Self.task(2)),
      Entry(task: Self.task(3, parent: 1)),
      Entry(task: Self.task(4, awaits: .group(0), parent: 1, children: [5])),
      Entry(task: Self.task(5, parent: 4), sleep: "until 1.0 seconds on TestClock"),
      Entry(task: Self.task(6, parent: 1_000)),
    ]
    #expect(
      Self.text(entries) == """
        Where the test's 6 tasks are:
        - task #1 awaits its child tasks
          - child task #3 awaits a continuation
          - child task #4 awaits its child tasks
            - child task #5 sleeps until 1.0 seconds on TestClock
        - 2 tasks (#2, #6), each awaits a continuation
        """)
  }

  @Test func aNameIsOneLine() {
    #expect(
      Self.text([Entry(task: Self.task(1, name: "a\nb\u{1B}[31m"))]) == """
        Where the test's task is:
        - task #1 "a␊b␛[31m" awaits a continuation
        """)
  }

  @Test func tasksThatWaitInTheSameWayAreSummedUp() {
    let entries = (1...10_000).map { id in
      Entry(task: Self.task(UInt(id)), sleep: "until \(id).0 seconds on TestClock")
    }
    #expect(
      Self.text(entries) == """
        Where the test's 10000 tasks are:
        - 10000 tasks (#1, #2, #3, #4, …), each sleeps until 1.0 seconds on TestClock, or until another \
        instant
        """)
  }

  @Test func aLongDumpIsCut() {
    let entries = (1...60).map { id in
      Entry(task: Self.task(UInt(id), awaits: .task(UInt(id) + 1)))
    }
    let lines = Self.text(entries).split(separator: "\n")
    #expect(lines.count == 42)
    #expect(lines[40] == "- task #40 awaits the value of task #41")
    #expect(lines[41] == "… and 20 more lines")
  }

  // MARK: - Circles

  private static func circles(_ tasks: [TaskSnapshot]) -> [[UInt64]] {
    let dump = TaskDump(tasks.map { Entry(task: $0) }, missing: [], images: CodeImages())
    return dump.circles.map { $0.map(\.task.id) }
  }

  @Test func aCircleIsFound() {
    #expect(
      Self.circles([Self.task(1, awaits: .task(2)), Self.task(2, awaits: .task(1))]) == [[1, 2]])
    #expect(Self.circles([Self.task(1, awaits: .task(1))]) == [[1]])
    #expect(Self.circles([Self.task(1, awaits: .task(2)), Self.task(2)]) == [])
    #expect(Self.circles([Self.task(1, awaits: .task(2)), Self.task(2, .running)]) == [])
    #expect(
      Self.circles([
        Self.task(1, awaits: .task(2)), Self.task(2, awaits: .task(3)),
        Self.task(3, awaits: .task(2)), Self.task(4, awaits: .task(3)),
      ]) == [[2, 3]])
  }

  @Test func aChildThatAwaitsItsParentIsACircle() {
    let tasks = [
      Self.task(1, awaits: .group(9), children: [2, 3]), Self.task(2, parent: 1),
      Self.task(3, awaits: .task(1), parent: 1),
    ]
    #expect(Self.circles(tasks) == [[1, 3]])
    #expect(
      Self.text(tasks.map { Entry(task: $0) }).hasPrefix(
        """
        Where the test's 3 tasks are:
        A circle: task #1 waits for task #3 waits for task #1. None of them can go on.
        """))
  }

  /// A copy of the list for each child would take minutes.
  @Test(.timeLimit(.minutes(10))) func manyChildrenAreVisitedInLinearTime() {
    let children = [UInt](repeating: 2, count: 1_000_000)
    let tasks = [Self.task(1, awaits: .group(9), children: children), Self.task(2, parent: 1)]
    #expect(Self.circles(tasks) == [])
  }

  @Test func aLargeCircleIsCut() {
    let tasks = (1...UInt(100)).map { Self.task($0, awaits: .task($0 % 100 + 1)) }
    let heading = Self.text(tasks.map { Entry(task: $0) }).split(separator: "\n")[1]
    #expect(heading.hasPrefix("A circle: task #1 waits for task #2 waits for "))
    #expect(
      heading.hasSuffix(
        " waits for task #10 waits for … (90 more) waits for task #1. None of them can go on."))
  }

  @Test func manyTasksInARowAreNotACircle() {
    let count: UInt = 20_000
    let tasks = (1...count).map { Self.task($0, awaits: .task($0 + 1)) }
    #expect(Self.circles(tasks) == [])
    #expect(Self.circles(tasks + [Self.task(count + 1, awaits: .task(1))]).map(\.count) == [20_001])
  }

  @Test func theDumpSaysWhatIsNotKnown() {
    let missing = ["where it waits"]
    #expect(
      Self.text([Entry(task: Self.task(1, awaits: nil))], missing: missing) == """
        Where the test's task is:
        - task #1 is suspended
        Not known on this runtime: where it waits.
        """)
    #expect(Self.text([], missing: missing) == "Not known on this runtime: where it waits.")
    #expect(Self.text([]) == "")
  }

  @Test func aReportHasItOnlyIfThereIsSomethingToSay() {
    func dump(_ entries: [Entry]) -> TaskDump {
      TaskDump(entries, missing: [], images: CodeImages())
    }
    let asking = Entry(task: Self.task(1, .running), asks: true)
    #expect("Failed.".with(dump([])) == "Failed.")
    #expect("Failed.".with(nil) == "Failed.")
    #expect("Failed.".with(dump([asking])) == "Failed.")
    let other = Entry(task: Self.task(2))
    #expect(
      "Failed.".with(dump([asking, other])) == """
        Failed.

        Where the test's 2 tasks are:
        - task #1 runs, and requests this dump
        - task #2 awaits a continuation
        """)
  }
}
