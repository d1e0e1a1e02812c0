import Testing

@testable import ClocksSearch

@Suite struct ScheduleTokenTests {
  @Test func readsWhatItWrites() throws {
    var tree = TaskTree()
    let child = tree.child(2, of: tree.child(30, of: TaskTree.test))
    let outside = tree.child(0, of: TaskTree.outside)
    let steps = [
      ScheduleStep(.job, of: child, 3), ScheduleStep(.drain, of: child, 0),
      ScheduleStep(.drain, of: child, 12, part: 4),
      ScheduleStep(.wake, of: TaskTree.test, 1), ScheduleStep(.other, of: outside, 7, part: 2),
      ScheduleStep(.job, of: TaskTree.outside, 1),
    ]
    #expect(
      steps.map(tree.name) == ["zfc.3", "zfc.0@", "zfc.12@4", "0~1", "1a.7+2", "1.1"])
    let constraints = zip(steps, steps.dropFirst()).map { Constraint(first: $0, second: $1) }
    let text = ScheduleToken(constraints: constraints, trace: 0x0ABC).text(tree)
    #expect(text.hasSuffix(":0abc"))
    var other = TaskTree()
    let token = try ScheduleToken(text, &other)
    #expect(token.text(other) == text)
    #expect(token.constraints.count == 5)
    // The hash of a step depends on its name alone, not on the tree.
    #expect(
      token.constraints.map { other.hash(of: $0.first) }
        == constraints.map { tree.hash(of: $0.first) })
  }

  @Test func readsChoicesInTheSecondVersionAlone() throws {
    var tree = TaskTree()
    let child = tree.child(1, of: TaskTree.test)
    let choices = [
      Choice(ScheduleStep(.choice, of: child, 12), 3),
      Choice(ScheduleStep(.fault, of: child, 2), 1),
      Choice(ScheduleStep(.wake, of: child, 1), 1),
      Choice(ScheduleStep(.job, of: child, 3), 2_000_000_000),
      Choice(ScheduleStep(.drain, of: child, 3), 1_500_000),
      Choice(ScheduleStep(.other, of: child, 3), Int.max),
    ]
    let constraint = Constraint(
      first: ScheduleStep(.job, of: child, 1), second: ScheduleStep(.job, of: TaskTree.test, 2))
    let text = ScheduleToken(choices: choices, constraints: [constraint], trace: 1).text(tree)
    #expect(text == "2:b?12=3,b!2,b~1^,b.3^2s,b.3@^1500us,b.3+^9223372036854775807ns,b.1<0.2:0001")
    let token = try ScheduleToken(text, &tree)
    #expect(token.choices == choices)
    #expect(token.constraints == [constraint])
    // Without choices the text is what it was in the first version.
    #expect(
      ScheduleToken(constraints: [constraint], trace: 1).text(tree) == "1:b.1<0.2:0001")
    #expect(throws: ScheduleToken.Problem.damaged("\"b!2\"")) {
      try ScheduleToken("1:b!2:0001", &tree)
    }
  }

  @Test(arguments: [
    "2:a?1:8f3a", "2:a?1=0:8f3a", "2:a?0=1:8f3a", "2:a?1=-1:8f3a", "2:a?1=x:8f3a", "2:a!0:8f3a",
    "2:a!1=1:8f3a", "2:?1=1:8f3a", "2:a?1=1=1:8f3a", "2:a?1=1,:8f3a",
    "2:a?1=99999999999999999999:8f3a", "2:a~1^1s:8f3a", "2:a.1^:8f3a", "2:a.1^0s:8f3a",
    "2:a.1^1:8f3a", "2:a.1^1m:8f3a", "2:a.1^s:8f3a", "2:a.1^-1s:8f3a", "2:a.1^1s^:8f3a",
    "2:a?1^1s:8f3a", "2:^1s:8f3a", "2:a.1^9223372037s:8f3a", "1:a.1^1s:8f3a",
    "", ":", "1", "1:", "1:a.1<b.1", "1:a.1<b.1:", "1:a.1<b.1:12345", "1:a.1<b.1:xyzw",
    "1:a.1<b.1:8f3a:", "1:a.1:8f3a", "1:a.1<a.1:8f3a", "1:a.1<b.1<c.1:8f3a", "1:a.0<b.1:8f3a",
    "1:A.1<b.1:8f3a", "1:a.1,b.1:8f3a", "1:,:8f3a", "1:a.1<b.1,:8f3a", "1:z.1<b.1:8f3a",
    "1:.1<b.1:8f3a", "1:a.1#<b.1:8f3a", "1:a.99999999<b.1:8f3a", "1:a.1@0<b.1:8f3a",
    "1:é.1<b.1:8f3a", "-1::8f3a", "one::8f3a",
    "1:" + String(repeating: "z", count: 671_089) + "a.1<b.1:8f3a",
  ]) func rejectsDamagedTokens(_ text: String) {
    var tree = TaskTree()
    do {
      _ = try ScheduleToken(text, &tree)
      Issue.record("\(text) is not rejected")
    } catch {
      guard case .damaged = error else {
        Issue.record("\(text): \(error)")
        return
      }
      #expect(error.description.contains("1:a.3<b.5:8f3a"))
    }
  }

  @Test(arguments: [200, 5_000, 100_000])
  func readsTheNameOfATaskWithManySiblings(_ ordinal: Int) throws {
    var tree = TaskTree()
    let constraints = [late(tree.child(ordinal, of: TaskTree.test))]
    let other = try expectRoundTrip(of: constraints, in: tree)
    #expect(other.count == tree.count)
  }

  @Test func readsTheNameOfATaskAtTheEndOfALongChain() throws {
    var tree = TaskTree()
    let last = (0..<100_000).reduce(TaskTree.outside) { task, _ in tree.child(0, of: task) }
    try expectRoundTrip(of: [late(last)], in: tree)
  }

  /// The schedule of a failure that ends the process is not shrunk.
  @Test func readsAConstraintForEachOfManySteps() throws {
    var tree = TaskTree()
    let constraints = (0..<20_000).map { late(tree.child($0 % 50, of: TaskTree.test), $0 + 1) }
    try expectRoundTrip(of: constraints, in: tree)
  }

  /// Writes a token, reads it, and returns the tree of the tasks that it names.
  @discardableResult
  private func expectRoundTrip(
    of constraints: [Constraint], in tree: TaskTree,
    at location: SourceLocation = #_sourceLocation
  ) throws -> TaskTree {
    let text = ScheduleToken(constraints: constraints, trace: 1).text(tree)
    var other = TaskTree()
    let token = try ScheduleToken(text, &other)
    // The hash of a step depends on its name alone, not on the tree.
    func hashes(_ constraints: [Constraint], in tree: TaskTree) -> [[UInt64]] {
      constraints.map { [tree.hash(of: $0.first), tree.hash(of: $0.second)] }
    }
    #expect(
      hashes(token.constraints, in: other) == hashes(constraints, in: tree),
      sourceLocation: location)
    #expect(token.text(other) == text, sourceLocation: location)
    return other
  }

  /// Returns a constraint for a task that is overtaken by the test.
  private func late(_ task: Int, _ number: Int = 1) -> Constraint {
    Constraint(
      first: ScheduleStep(.job, of: TaskTree.test, 1), second: ScheduleStep(.job, of: task, number))
  }

  @Test func theCountOfDrainsWithinAJobEndsAtItsMaximum() {
    let run = ScheduleRun()
    let task = run.create(by: TaskTree.test)
    _ = run.nextJob(of: task)
    let names = (1...4_097).map { _ in run.tree.name(of: run.nextDrain(of: task)) }
    #expect(Array(names.prefix(2)) == ["a.1@", "a.1@2"])
    #expect(Array(names.suffix(4)) == ["a.1@4094", "a.1@4095", "a.1@4095", "a.1@4095"])
  }

  @Test func rejectsOtherVersionsByName() {
    var tree = TaskTree()
    #expect(throws: ScheduleToken.Problem.version("3")) {
      try ScheduleToken("3:whatever comes then", &tree)
    }
  }
}
