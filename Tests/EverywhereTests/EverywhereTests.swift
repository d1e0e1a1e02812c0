import Foundation
import TestTraits
import Testing

/// Test processes in which each test runs in virtual time: this bundle, which has a copy of the package.
@Suite struct EverywhereSampleTests {
  struct Record: Decodable {
    var name: String?
    var arguments: String?
    var passed: Bool?
    var virtual: Bool?
    var realSeconds: Double?
    var virtualSeconds: Double?
    var reasons: [String]?
    var failures: [String]?
  }

  /// Runs samples in a child process, and returns their records by the names of the tests.
  private func run(
    _ filter: String, library: String = "swift-testing", _ environment: [String: String] = [:]
  ) async throws -> (records: [String: [Record]], child: ChildProcess) {
    try await withTemporaryPath { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let variables = [
        "EVERYWHERE_SAMPLES": "1", "CLOCKS_EVERYWHERE": "1", "CLOCKS_EVERYWHERE_RECORDS": folder,
      ]
      let child = try await ChildProcess.runTests(
        filter, library: library, environment: variables.merging(environment) { $1 })
      let lines = try FileManager.default.contentsOfDirectory(atPath: folder).flatMap {
        try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8).split(separator: "\n")
      }
      let records = try lines.map { try JSONDecoder().decode(Record.self, from: Data($0.utf8)) }
        .filter { $0.name != nil }
      return (Dictionary(grouping: records) { $0.name ?? "" }, child)
    }
  }

  private static let suite = "EverywhereTests.EverywhereSamples"

  /// A microsecond passes with each reading of a clock.
  private static func withoutReadings(_ seconds: Double) -> Double {
    (seconds * 100).rounded() / 100
  }

  /// The virtual seconds of tests; none in real time.
  private static func seconds(of tenths: [String: Int], _ order: String) -> [String: Double] {
    tenths.mapValues { order == "real" ? 0 : Double($0) / 10 }
  }

  @Test(.enabled(if: areThreadsShown && !hasSanitizer)) func eachTestCaseHasAScope() async throws {
    let (records, child) = try await run("EverywhereSamples")
    #expect(child.exitCode == 1, "\(child.standardOutput)")
    let failed = records.filter { $0.value.contains { $0.passed == false } }.keys
    #expect(Array(failed) == ["\(Self.suite)/fails()"], "\(child.standardOutput)")
    func hours(_ test: String) -> [Double] {
      (records["\(Self.suite)/\(test)"] ?? []).compactMap(\.virtualSeconds)
        .map { Self.withoutReadings($0) / 3600 }.sorted()
    }
    #expect(hours("sleeps(_:)") == [1, 2, 3])
    #expect(hours("zipped(_:_:)") == [24, 48])
    #expect(hours("twoCollections(_:_:)") == [24, 24, 48, 48])
    #expect(hours("dictionary(_:)") == [24])
    #expect(hours("pairs(_:_:)") == [24, 48])
    #expect(hours("onTheMainActor()") == [50.0 / 3600])
    #expect(hours("waitsForRealWork()") == [0])
    #expect(!child.standardOutput.contains("was cancelled"))
    #expect(records.count == 19)
    #expect(records.values.joined().allSatisfy { $0.virtual == true })
  }

  @Test(.unless(.suitesAreInRealTime)) func testsWithTheTraitOrAClockRunInVirtualTime() async throws
  {
    let (records, child) = try await run("EverywhereTraitSamples/(hasItsOwn|itsClock)")
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    #expect(records.values.joined().map(\.virtual) == [true, true])
  }

  @Test(.unless(.suitesAreInRealTime)) func aTestOfAnUnknownDeclarationIsNamed() async throws {
    let (records, child) = try await run("EverywhereTests.declaredByHand")
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    #expect(records.isEmpty)
    #expect(
      child.standardOutput.lines(containing: "clocks-everywhere:") == [
        "clocks-everywhere: EverywhereTests.declaredByHand() runs in real time: "
          + "Clocks does not know the function that declares it."
      ], "\(child.standardOutput)")
  }

  @Test func aStuckTestIsAdvisedToRunInRealTime() async throws {
    let (_, child) = try await run(
      "EverywhereTraitSamples/losesAContinuation", ["CLOCKS_BLOCKED_AFTER": "0.5"])
    let output = child.standardOutput.withoutMeasuredTime
    #expect(child.exitCode == 1, "\(output)")
    #expect(
      output.contains("The test is stuck at 0.0 seconds of virtual time: for 1.0 seconds of real"),
      "\(output)")
    #expect(output.contains("run the test in real time, with `--real`"), "\(output)")
    // The dump at the end of the process names the test, and no file of this package.
    #expect(
      output.contains(
        "The scope of virtual time of EverywhereTests.EverywhereTraitSamples/losesAContinuation()\n"
      ),
      "\(output)")
    #expect(!output.contains(/Everywhere\w*\.swift:\d/), "\(output)")
  }

  /// In an order, the run is abandoned, while its task still holds the body of the test.
  @Test(.unless(.suitesAreInRealTime)) func aStuckTestEndsInAnOrder() async throws {
    let (records, child) = try await run(
      "EverywhereTraitSamples/(losesAContinuation|itsClock)",
      ["CLOCKS_BLOCKED_AFTER": "0.5", "CLOCKS_EVERYWHERE_SEED": "1"])
    #expect(child.exitCode == 1, "\(child.standardOutput)")
    #expect(child.standardOutput.contains("Test run with 2 tests"), "\(child.standardOutput)")
    let test = "EverywhereTests.EverywhereTraitSamples/losesAContinuation()"
    let record = try #require(records[test]?.first, "\(child.standardOutput)")
    #expect(record.passed == false && record.virtual == true)
    #expect(record.failures?.count == 1)
  }

  @Test func theTimelineOfATestOfXCTestHasTheNameOfTheTest() async throws {
    try await withTemporaryPath { folder in
      let (_, child) = try await run(
        "EverywhereTests.EverywhereXCTSamples/testAsync", library: "xctest",
        ["CLOCKS_TRACE": folder])
      #expect(child.exitCode == 0, "\(child.standardOutput)")
      let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      #expect(
        names == ["json", "svg"].map { "EverywhereTests.EverywhereXCTSamples-testAsync.\($0)" })
    }
  }

  @Test func testsOfXCTestHaveScopes() async throws {
    let (records, child) = try await run(
      "EverywhereTests.EverywhereXCTSamples", library: "xctest")
    #expect(child.exitCode == 1, "\(child.standardOutput)")
    let failed = records.filter { $0.value.contains { $0.passed == false } }.keys
    #expect(
      Array(failed) == ["EverywhereTests.EverywhereXCTSamples/testFails"],
      "\(child.standardOutput)")
    #expect(records.count == 13)
    #expect(records.values.joined().allSatisfy { $0.virtual == true }, "\(records)")
    // Each test sleeps for 5 seconds before it begins.
    let seconds: [String: Double] = [
      "testAsync": 86_405, "testWait": 9, "testTimeout": 11, "testDispatch": 8,
      "testBlocksTheThread": 7, "testRunsTheRunLoop": 15, "testWaitsForRealWork": 5,
      "testWaitsForABlockedThread": 5, "testTimer": 5.5, "testACallbackOfTheRunLoopSleeps": 10,
      "testRunsTheRunLoopUntilItIsStopped": 12, "testFails": 5,
    ]
    for (name, seconds) in seconds {
      let record = records["EverywhereTests.EverywhereXCTSamples/\(name)"]?.first
      #expect(record?.virtualSeconds.map(Self.withoutReadings) == seconds, "\(name)")
    }
  }

  /// The orders in which samples pass. On a quiet machine, they pass in real time, too.
  private static let orders =
    ["0", "1", "2", "3"]
    + (ProcessInfo.processInfo.environment["CLOCKS_TESTS_QUIET_MACHINE"] == nil ? [] : ["real"])

  /// Runs samples of XCTest that pass in virtual time and in real time, and returns their virtual seconds by their
  /// names.
  private func passing(_ suite: String, order: String) async throws -> [String: Double] {
    let suite = "EverywhereTests.\(suite)"
    let isVirtual = order != "real"
    let (records, child) = try await run(
      suite, library: "xctest",
      isVirtual ? ["CLOCKS_EVERYWHERE_SEED": order] : ["CLOCKS_EVERYWHERE": "real"])
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    var seconds: [String: Double] = [:]
    for (name, records) in records {
      #expect(records.map(\.passed) == [true], "\(name): \(records)")
      #expect(records.map(\.virtual) == [isVirtual], "\(name)")
      // In some orders, other tasks are ready when this test polls a clock.
      if !name.hasSuffix("testACallbackTakesRealTime") {
        #expect(records.map(\.reasons) == [[]], "\(name)")
      }
      seconds[String(name.dropFirst(suite.count + 1))] = records[0].virtualSeconds
    }
    return seconds
  }

  @Test(arguments: orders)
  func waitsInAsyncTestsLetOtherTasksRun(_ order: String) async throws {
    let seconds = try await passing("EverywhereXCTWaitSamples", order: order)
    // `setUp` and `tearDown` wait for a tenth of a second each.
    let tenths = [
      "testWaitForExpectations": 6, "testTheMainActorWaits": 7, "testTheMainActorTimesOut": 8,
      "testWaitsForItself": 8, "testAThreadOfThePoolWaits": 6, "testAThreadOfThePoolTimesOut": 8,
      "testAnActorWaits": 6, "testTwoTasksWait": 6, "testFulfillment": 6,
      "testFulfillmentTimesOut": 8, "testATaskWaitsWhileTheTestWaits": 6,
      "testATaskBlocksItsThread": 6,
    ]
    #expect(seconds.mapValues(Self.withoutReadings) == Self.seconds(of: tenths, order))
  }

  @Test(.disabled(if: hasSanitizer), arguments: orders)
  func threadsThatTestsStartAreInVirtualTime(_ order: String) async throws {
    let seconds = try await passing("EverywhereXCTThreadSamples", order: order)
    let tenths = [
      "testAThreadWaits": 3, "testAThreadWaitsLate": 9, "testAThreadGoesOnAfterItsWait": 9,
      "testAnObjectWaitsLate": 9, "testAThreadTimesOut": 5, "testThreadsWaitAtTheSameTime": 6,
      "testAThreadWaitsTwice": 6, "testAThreadSleeps": 3, "testAThreadPolls": 4,
      "testAThreadExits": 3,
      "testABlockOfAThreadIsDelayed": 3, "testThreadsWaitForSemaphores": 9,
      "testASignalBeforeAThreadWaits": 2, "testATaskOfAThread": 2,
    ]
    #expect(seconds.mapValues(Self.withoutReadings) == Self.seconds(of: tenths, order))
  }

  @Test(.disabled(if: hasSanitizer), arguments: orders)
  func sleepsOfBlocksAreVirtual(_ order: String) async throws {
    let seconds = try await passing("EverywhereXCTBlockSamples", order: order)
    let tenths = [
      "testABlockSleeps": 3, "testABlockSleepsForNoTime": 0, "testBlocksSleepAtTheSameTime": 4,
      "testBlocksSleepOneAfterAnother": 6, "testOperationsSleep": 4,
      "testATimerBehindABlockThatSleeps": 5, "testABlockWaits": 3,
      "testABlockSleepsWhileTasksDo": 7,
    ]
    #expect(seconds.mapValues(Self.withoutReadings) == Self.seconds(of: tenths, order))
  }

  @Test(.disabled(if: hasSanitizer), arguments: orders)
  func blocksOfTheMainQueueSleepInVirtualTime(_ order: String) async throws {
    let seconds = try await passing("EverywhereXCTMainQueueSamples", order: order)
    let tenths = [
      "testBlocksSleep": 4, "testABlockSleepsInAnAsyncTest": 4, "testABlockDelaysTheMainThread": 3,
      "testABlockWaits": 5, "testABlockRunsTheRunLoop": 5, "testABlockStartsATask": 4,
      "testATaskOfTheMainThreadSleeps": 3, "testHandlersAndOperationsSleep": 4,
    ]
    #expect(seconds.mapValues(Self.withoutReadings) == Self.seconds(of: tenths, order))
  }

  /// Locks, conditions and `DispatchQueue.sync` are not seen as waits.
  @Test(.enabled(if: areThreadsShown && !hasSanitizer), arguments: orders)
  func threadsThatAreHeldWaitInVirtualTime(_ order: String) async throws {
    let seconds = try await passing("EverywhereXCTHeldSamples", order: order)
    let tenths = [
      "testSync": 3, "testBarrier": 12, "testOperations": 3, "testWorkItem": 6,
      "testConditionOfATask": 3, "testConditionOfABlock": 3, "testLock": 3, "testLockInATask": 3,
      "testSemaphoreOfATask": 3, "testTheMainActorIsHeld": 3, "testALimitThatIsNotReached": 3,
      "testALimitThatIsReached": 7, "testLimitsOfBlocks": 5, "testLimitsOfConditions": 3,
      "testABlockForWhichThereIsNoThread": 0, "testATimerForWhichThereIsNoThread": 11,
      "testLimitsOfGroups": 5,
    ]
    #expect(seconds.mapValues(Self.withoutReadings) == Self.seconds(of: tenths, order))
  }

  @Test(.enabled(if: areThreadsShown && !hasSanitizer), arguments: orders)
  func blocksSleepBesideATaskThatHasNotBegun(_ order: String) async throws {
    let seconds = try await passing("EverywhereXCTFewThreadsSamples", order: order)
    #expect(seconds.count == 1)
  }

  @Test(.enabled(if: areThreadsShown && !hasSanitizer), arguments: orders)
  func waitsOfDifferentKindsMeet(_ order: String) async throws {
    let seconds = try await passing("EverywhereXCTMixedSamples", order: order)
    #expect(seconds.count == 20)
  }

  @Test(.enabled(if: areThreadsShown && !hasSanitizer), arguments: orders)
  func blocksThatCannotBeginKeepNoTimeFromPassing(_ order: String) async throws {
    let seconds = try await passing("EverywhereXCTQueueSamples", order: order)
    let tenths = [
      "testASuspendedQueue": 4, "testAQueueIsSuspendedTwice": 3, "testAnInactiveQueue": 4,
      "testASuspendedTarget": 4, "testBlocksWithOneTargetSleep": 6,
      "testABlockBehindASyncOfItsTarget": 3, "testTheTargetIsTheMainQueue": 3,
      "testABarrierBehindABlockThatSleeps": 5, "testABlockBehindASyncThatSleeps": 3,
      "testABlockBehindASyncThatWaits": 3, "testABlockOfTheMainQueueWaitsBesideAThread": 3,
      "testTheMainActorWaitsBesideAThread": 3, "testACallbackOfAThreadWaitsWithALimit": 4,
      "testATimerOfAThreadRepeats": 9,
      "testAMethodAndABlockShareASemaphore": 4, "testPolls": 0, "testABlockSignalsAgainAndAgain": 0,
    ]
    #expect(seconds.mapValues(Self.withoutReadings) == Self.seconds(of: tenths, order))
  }

  @Test(.disabled(if: hasSanitizer), arguments: orders)
  func aMethodThatWaitsWithALimitIsPaused(_ order: String) async throws {
    let seconds = try await passing("EverywhereXCTLimitSamples", order: order)
    #expect(seconds.count == 3)
  }

  @Test(.unless(.suitesAreInRealTime)) func aSyncOnTheMainQueueSleepsInVirtualTime() async throws {
    let (records, child) = try await run("EverywhereQueueSamples")
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    #expect(records.values.joined().compactMap(\.virtualSeconds).map(Self.withoutReadings) == [0.3])
  }

  @Test(.enabled(if: areThreadsShown && !hasSanitizer), arguments: orders)
  func jobsThatHoldAnExecutorSleepInVirtualTime(_ order: String) async throws {
    let seconds = try await passing("EverywhereXCTExecutorSamples", order: order)
    let tenths = [
      "testAnActorOnAQueueSleeps": 3, "testAnActorOnAThreadSleeps": 9,
      "testAnActorOnAThreadThatIsLeftSleeps": 9, "testAnActorSleepsBeforeItsNextJob": 4,
      "testTwoJobsOfAnActorSleep": 6, "testTheMainActorSleepsBeforeItsNextJob": 3,
    ]
    #expect(seconds.mapValues(Self.withoutReadings) == Self.seconds(of: tenths, order))
  }

  @Test(arguments: orders)
  func whatLibrariesCallIsPartOfTheTest(_ order: String) async throws {
    let seconds = try await passing("EverywhereXCTLibrarySamples", order: order)
    let tenths = [
      "testAStubThatAnswersImmediately": 1, "testAStubThatAnswersLater": 3,
      "testAStubAndATimeout": 3, "testARunLoopInABlock": 2, "testNotificationsOfAnItem": 3,
    ]
    #expect(seconds.mapValues(Self.withoutReadings) == Self.seconds(of: tenths, order))
  }

  /// With another strategy, the jobs of a test in such an order do not pass through hooks of other code.
  private static let hookOrders =
    ProcessInfo.processInfo.environment["CLOCKS_DOOR", default: "spi"] == "spi"
    ? orders : orders.filter { ["0", "real"].contains($0) }

  @Test(arguments: hookOrders)
  func jobsRunAsAHookOfOtherCodeSays(_ order: String) async throws {
    let seconds = try await passing("EverywhereXCTHookSamples", order: order)
    let tenths = [
      "testAChildOfEachJobRunsInOrder": 3, "testATaskThatTheMethodAwaits": 3, "testNothing": 0,
    ]
    #expect(seconds.mapValues(Self.withoutReadings) == Self.seconds(of: tenths, order))
  }

  @Test(.disabled(if: hasSanitizer), .enabled(if: areThreadsShown), arguments: orders)
  func aThreadThatWaitsForEventsKeepsNoTimeFromMoving(_ order: String) async throws {
    let seconds = try await passing("EverywhereXCTProcessSamples", order: order)
    #expect(seconds.count == 5)
  }

  @Test(arguments: ["0", "1", "2"])
  func theMainActorSleepsInVirtualTime(_ order: String) async throws {
    let (records, child) = try await run(
      "EverywhereMainActorSamples", ["CLOCKS_EVERYWHERE_SEED": order])
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    let seconds = records.values.joined().compactMap(\.virtualSeconds)
    #expect(seconds.map(Self.withoutReadings) == [600, 600, 600])
  }

  @Test func iterationsSleepInVirtualTime() async throws {
    let (records, child) = try await run("EverywhereIterationSamples")
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    #expect(records.count == 1)
  }

  @Test(.enabled(if: areThreadsShown), arguments: ["", "1"])
  func threadsOfThePoolAreHeld(_ seed: String) async throws {
    let (records, child) = try await run(
      "EverywhereHeldSamples", seed.isEmpty ? [:] : ["CLOCKS_EVERYWHERE_SEED": seed])
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    let seconds = records.values.joined().compactMap(\.virtualSeconds)
    #expect(seconds.map(Self.withoutReadings).sorted() == ([1] + (1...8)).map { 600 * Double($0) })
  }

  @Test(arguments: ["0", "1"]) func loopsInSynchronousTestsEnd(_ order: String) async throws {
    let (records, child) = try await run(
      "EverywhereTests.EverywhereXCTSpinSamples", library: "xctest",
      ["CLOCKS_EVERYWHERE_SEED": order, "CLOCKS_BLOCKED_AFTER": "1"])
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    #expect(records.count == 4 && records.values.joined().allSatisfy { $0.passed == true })
    let reason = "a task holds its thread and does not suspend, so other tasks run at the same time"
    #expect(records.values.joined().allSatisfy { $0.reasons?.first == reason }, "\(records)")
  }

  @Test func timePassesWhileBlocksSpin() async throws {
    let (records, child) = try await run(
      "EverywhereTests.EverywhereXCTSpinningBlockSamples", library: "xctest")
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    #expect(records.count == 1 && records.values.joined().allSatisfy { $0.passed == true })
    #expect(
      records.values.joined().map(\.reasons) == [
        [
          """
          time passes while work on the queue "com.apple.root.utility-qos" goes on, which may be real work
          """
        ]
      ])
  }

  @Test func timePassesWhileAThreadServes() async throws {
    let (records, child) = try await run(
      "EverywhereTests.EverywhereXCTServerSamples", library: "xctest")
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    let record = records.values.joined().first
    #expect(record?.virtualSeconds.map(Self.withoutReadings) == 0.6)
    let thread = "a thread that the test has started"
    #expect(
      record?.reasons == ["time passes while \(thread) goes on, which may be real work"])
  }

  @Test(.disabled(if: hasSanitizer), arguments: orders)
  func notificationsOfRunLoopsComeInVirtualTime(_ order: String) async throws {
    let seconds = try await passing("EverywhereXCTNotificationSamples", order: order)
    let tenths = [
      "testSoon": 0, "testWhenIdle": 0, "testSoonInABlockOfTheMainQueue": 0,
      "testWhenIdleInABlockOfTheMainQueue": 0, "testSoonInADelayedBlock": 3,
      "testWhenIdleInATask": 0, "testTheOrderOfANotificationAndABlock": 6,
    ]
    #expect(seconds.mapValues(Self.withoutReadings) == Self.seconds(of: tenths, order))
  }

  private static let abandoned = [
    ("EverywhereTests.EverywhereXCTAbandonedSamples", "xctest", 3),
    ("EverywhereAbandonedSamples", "swift-testing", 1),
  ]

  /// Time does not jump before threads that it wakes have continued, although no test waits for them any more.
  @Test(.unless(.suitesAreInRealTime), .enabled(if: areThreadsShown), arguments: abandoned)
  func timeWakesThreadsThatWereAbandoned(_ filter: String, library: String, count: Int) async throws
  {
    let (records, child) = try await run(
      filter, library: library, ["CLOCKS_BLOCKED_AFTER": "0.5"])
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    #expect(records.count == count)
    for record in records.values.joined() {
      #expect(record.passed == true && record.reasons?.isEmpty == false, "\(record)")
      #expect(record.virtualSeconds.map(Self.withoutReadings) == 0.2, "\(record)")
    }
  }

  @Test(.enabled(if: areThreadsShown)) func timersFromOutsideTestsAreVirtual() async throws {
    let seconds = try await passing("EverywhereXCTOuterTimerSamples", order: "0")
    #expect(seconds.count == 1)
    // Some real time has passed between the timer's creation and the test.
    let left = seconds["testATimerOfTheSuiteFires"] ?? 0
    #expect(left > 30 && left < 60.001, "\(seconds)")
  }

  @Test(arguments: orders)
  func timersOfRunLoopsAreVirtual(_ order: String) async throws {
    let seconds = try await passing("EverywhereXCTTimerSamples", order: order)
    #expect(seconds.count == 27)
    // Most of the thread's wait passes in real time, in which no virtual time passes.
    #expect((seconds["testPredicateForAThread"] ?? 9) < 5)
    let end = order == "real" ? 0 : 0.5
    #expect(seconds["testATimerIsLeftBehind"].map(Self.withoutReadings) == end)
  }

  @Test func aTestThatRunsAnotherOneHasARecord() async throws {
    let (records, child) = try await run(
      "EverywhereTests.EverywhereXCTNestedSamples", library: "xctest")
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    let names = ["EverywhereInnerCase/testInner", "EverywhereXCTNestedSamples/testRunsAnotherTest"]
    #expect(records.keys.sorted() == names.map { "EverywhereTests.\($0)" })
    for record in records.values.joined() {
      #expect(record.passed == true && record.virtual == true && record.reasons == [])
    }
  }

  /// XCTest makes the clocks of properties before the test has a scope.
  @Test(arguments: [
    ("EverywhereXCTClockSamples/testAClockOfTheTestCase", false),
    ("EverywhereXCTModelSamples/testAClockOfAModel", false),
    ("EverywhereXCTSetUpSamples/testAClockMadeInSetUp", true),
  ])
  func testsWithClocksInPropertiesRunInRealTime(_ test: String, isVirtual: Bool) async throws {
    let (records, child) = try await run("EverywhereTests.\(test)", library: "xctest")
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    let record = try #require(records["EverywhereTests.\(test)"]?.first)
    #expect(record.passed == true && record.virtual == isVirtual)
    let reason =
      "runs in real time, because a property of the test holds a TestClock that was made before the test"
    #expect(record.reasons == (isVirtual ? [] : [reason]))
  }

  /// The test's thread runs the run loop, in slices, while a task of the test waits for a clock of another scheduler.
  @Test func theProcessEndsIfATestIsStuckOnAStaticClock() async throws {
    let (records, child) = try await run(
      "EverywhereTests.EverywhereXCTStaticSamples", library: "xctest",
      ["CLOCKS_BLOCKED_AFTER": "2"])
    #expect(child.exitCode == 1 && records.isEmpty)
    #expect(child.standardOutput.contains("and no task advances it"), "\(child.standardOutput)")
    #expect(
      child.standardOutput.contains("because only 1 stuck test is left"), "\(child.standardOutput)")
  }

  /// XCTest waits in the run loop, in slices, which do not count as progress.
  @Test func aLostContinuationIsReportedInXCTest() async throws {
    let (_, child) = try await run(
      "EverywhereTests.EverywhereXCTLostSamples", library: "xctest",
      ["CLOCKS_BLOCKED_AFTER": "0.5"])
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(
      output.withoutMeasuredTime.contains("for 1.0 seconds of real time nothing could run"),
      "\(output)")
    #expect(output.contains("EverywhereXCTLostSamples.testLosesAContinuation()"), "\(output)")
    #expect(output.contains("because only 1 stuck test is left"), "\(output)")
    #expect(!output.contains(/Everywhere\w*\.swift:\d+: error/), "\(output)")
  }

  @Test func namedTestsRunInRealTime() async throws {
    let (records, child) = try await run(
      "leavesATaskBehind|onTheMainActor",
      ["CLOCKS_EVERYWHERE_REAL": "EverywhereSamples/leavesATaskBehind"])
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    let real = try #require(records["\(Self.suite)/leavesATaskBehind()"]?.first)
    #expect(real.virtual == false && real.reasons == ["runs in real time, as --real asks"])
    #expect(records["\(Self.suite)/onTheMainActor()"]?.first?.virtual == true)
  }

  @Test func testsOfOneOrderDoNotShareTheirRandomNumbers() async throws {
    func files(seed: Int) async throws -> [Substring] {
      let (_, child) = try await run("namesAFile", ["CLOCKS_EVERYWHERE_SEED": "\(seed)"])
      #expect(child.exitCode == 0, "\(child.standardOutput)")
      return child.standardOutput.split(separator: "\n").filter { $0.hasPrefix("file ") }.sorted()
    }
    let first = try await files(seed: 1)
    #expect(first.count == 2)
    #expect(try await files(seed: 1) == first)
    let numbers = try await (first + files(seed: 2)).map { $0.split(separator: " ").last }
    #expect(Set(numbers).count == 4)
  }

  @Test(.enabled(if: areThreadsShown && !hasSanitizer)) func timePassesWhileABlockWaitsForTheTest()
    async throws
  {
    for seed in ["", "1"] {
      let (records, child) = try await run(
        "leavesABlockOnAQueue", ["CLOCKS_EVERYWHERE_SEED": seed])
      #expect(child.exitCode == 0, "\(child.standardOutput)")
      let record = try #require(records["\(Self.suite)/leavesABlockOnAQueue()"]?.first)
      #expect(record.virtualSeconds.map(Self.withoutReadings) == 3600)
      #expect(record.reasons == [])
    }
  }

  @Test(.unless(.suitesAreInRealTime), .enabled(if: areThreadsShown && !hasSanitizer))
  func theLimitOfABlockIsVirtual() async throws {
    let (records, child) = try await run("waitsWithALimitOnAQueue")
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    let record = try #require(records["\(Self.suite)/waitsWithALimitOnAQueue()"]?.first)
    #expect(record.virtualSeconds.map(Self.withoutReadings) == 1.5 && record.reasons == [])
  }

  /// In each of the orders, the loop begins before the task that ends it.
  @Test(arguments: ["", "1", "2", "3"]) func aLoopThatDoesNotSuspendEnds(_ seed: String)
    async throws
  {
    var variables = ["CLOCKS_BLOCKED_AFTER": "1"]
    if !seed.isEmpty { variables["CLOCKS_EVERYWHERE_SEED"] = seed }
    let (records, child) = try await run("EverywhereLoopSamples", variables)
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    #expect(records.count == 4)
    let reason = "a task holds its thread and does not suspend, so other tasks run at the same time"
    for (name, record) in records {
      #expect(record.map(\.passed) == [true], "\(record)")
      let reasons = try #require(record.first?.reasons)
      #expect(reasons.first == reason, "\(name): \(reasons)")
      #expect(reasons.count == (name.contains("waitsForTime") ? 2 : 1), "\(reasons)")
    }
  }

  /// A loop that polls a clock reaches its limit only if nothing else can run before.
  @Test(.disabled(if: hasSanitizer), arguments: orders) func loopsThatPollAClockLetOtherTasksRun(
    _ order: String
  ) async throws {
    let isVirtual = order != "real"
    let hundredths = [
      "testAReadyTask": 0, "testASleepingTask": 5, "testATaskThatSleepsAgainAndAgain": 10,
      "testATaskThatComputes": 0, "testADelayedBlock": 5, "testABlockThatSleeps": 5,
      "testAThreadThatSleeps": 5, "testATimerSource": 5, "testABlockThatPolls": 5,
      "testTheLimitComesFirst": 50, "testATaskOfTheSameActor": 50,
      "aReadyTask()": 0, "aSleepingTask()": 5, "aTaskOfTheMainActor()": 0, "twoLoops()": 10,
      "nothingElse()": 50,
    ]
    var found: [String: Int] = [:]
    for (suite, library) in [
      ("EverywhereXCTPollingSamples", "xctest"), ("EverywherePollingSamples", "swift-testing"),
    ] {
      let (records, child) = try await run(
        "EverywhereTests.\(suite)", library: library,
        isVirtual ? ["CLOCKS_EVERYWHERE_SEED": order] : ["CLOCKS_EVERYWHERE": "real"])
      #expect(child.exitCode == 0, "\(child.standardOutput)")
      for (name, records) in records {
        #expect(records.map(\.passed) == [true], "\(name): \(records)")
        // A job takes 2 ms of virtual time before it counts as a loop that polls.
        let seconds = try #require(records[0].virtualSeconds)
        let name = String(name.split(separator: "/")[1])
        // While a block or a thread begins or runs, time passes with the readings.
        let isOfTasks = !["Block", "Thread", "Timer"].contains(where: name.contains)
        found[name] = isOfTasks || seconds < 0.05 ? Int(seconds * 100) : 5
      }
    }
    #expect(found == hundredths.mapValues { isVirtual ? $0 : 0 })
  }

  /// An order has 100,000 steps, because each takes memory; then the test continues first in, first out.
  @Test(.unless(.suitesAreInRealTime)) func anOrderEndsWithoutAFailure() async throws {
    for seed in ["1", "2"] {
      let (records, child) = try await run("sleepsForNoTime", ["CLOCKS_EVERYWHERE_SEED": seed])
      #expect(child.exitCode == 0, "\(child.standardOutput)")
      #expect(records["\(Self.suite)/sleepsForNoTime()"]?.first?.virtual == true)
    }
  }

  @Test(.unless(.suitesAreInRealTime)) func seedsChooseOrdersAndTokensReplayThem() async throws {
    func passes(_ environment: [String: String]) async throws -> Bool {
      let (records, child) = try await run("dependsOnTheOrder", environment)
      let record = try #require(records["\(Self.suite)/dependsOnTheOrder()"]?.first)
      let isPassed = record.passed == true
      #expect(child.exitCode == (isPassed ? 0 : 1), "\(child.standardOutput)")
      return isPassed
    }

    var passed: [UInt64] = []
    var failed: [UInt64] = []
    for seed: UInt64 in 1...40 where passed.isEmpty || failed.isEmpty {
      let isPassed = try await passes(["CLOCKS_EVERYWHERE_SEED": "\(seed)"])
      if isPassed { passed.append(seed) } else { failed.append(seed) }
    }
    for (seeds, isPassed) in [(passed, true), (failed, false)] {
      let seed = try #require(seeds.first)
      let token = "\(Self.suite)/dependsOnTheOrder()@\(seed)"
      #expect(try await passes(["CLOCKS_EVERYWHERE_REPLAY": token]) == isPassed)
    }
  }
}
