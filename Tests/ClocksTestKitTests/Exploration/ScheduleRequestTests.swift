import ClocksSearch
import Testing

@testable import Clocks

/// The parameters of a search, from its caller and from the environment.
@Suite struct ScheduleRequestTests {
  private func request(
    _ count: ScheduleCount = .standard, seed: Int? = nil,
    _ variables: Environment.SearchVariables = .init()
  ) -> ScheduleRequest {
    ScheduleRequest(count: count, seed: seed, slack: .zero, testID: "test", variables: variables)
  }

  private func problem(_ variables: Environment.SearchVariables) -> String? {
    do {
      _ = try request(variables).meaning()
      return nil
    } catch {
      return error.description
    }
  }

  private func request(_ variables: Environment.SearchVariables) -> ScheduleRequest {
    request(.standard, variables)
  }

  @Test func defaultsWithoutVariables() throws {
    let meaning = try request().meaning()
    #expect(meaning.limits.count == 1_000)
    #expect(meaning.time == .seconds(2))
    #expect(meaning.limits.shard == .whole)
    #expect(meaning.limits.seed == Mixer.hash("test"))
    #expect(try request(.upTo(5), seed: 7).meaning().limits.count == 5)
    #expect(try request(.upTo(5), seed: 7).meaning().limits.seed == 7)
    #expect(try request(.upTo(5)).meaning().time == nil)
  }

  @Test func variablesTakePrecedence() throws {
    let variables = Environment.SearchVariables(count: "100000", seed: "0", shard: "3/16")
    for count in [ScheduleCount.standard, .upTo(5)] {
      let meaning = try request(count, seed: 7, variables).meaning()
      #expect(meaning.limits.count == 100_000)
      #expect(meaning.limits.seed == 0)
      #expect(meaning.limits.shard == .init(index: 2, count: 16))
      // There is no limit of time.
      #expect(meaning.time == nil)
    }
    let exhaustive = try request(.exhaustive(reversals: 2), variables).meaning()
    #expect(exhaustive.limits.count == .max)
    #expect(try request(.schedule("1::0000"), variables).meaning().token == "1::0000")
  }

  @Test func aReplayHasTheSlackOfTheSearch() {
    #expect(replayArguments(slack: .zero) == "")
    #expect(replayArguments(slack: .seconds(2)) == ", slack: .seconds(2)")
    #expect(replayArguments(slack: .milliseconds(1_500)) == ", slack: .milliseconds(1500)")
    #expect(replayArguments(slack: .microseconds(7)) == ", slack: .microseconds(7)")
    #expect(replayArguments(slack: .nanoseconds(1)) == ", slack: .nanoseconds(1)")
    #expect(
      replayArguments(slack: Duration(attoseconds: 5)) == ", slack: .init(attoseconds: 5)")
  }

  @Test func aRandomSeedDiffersEachTime() throws {
    let seeds = try (0..<20).map { _ in
      try request(.standard, seed: 7, .init(seed: "random")).meaning().limits.seed
    }
    #expect(Set(seeds).count > 1)
  }

  @Test(arguments: [
    "0", "-1", "many", "1e5", "1_000", " 5", "99999999999999999999", "0x10", "५",
  ])
  func rejectsABadCount(_ text: String) {
    #expect(
      problem(.init(count: text))
        == """
        CLOCKS_SCHEDULES is "\(text)", but can only be a number of schedules, 1 or more, for example \
        100000. Unset it for the default: the number of the test.
        """)
  }

  @Test(arguments: ["-1", "Random", "dice", "1.5", "99999999999999999999"])
  func rejectsABadSeed(_ text: String) {
    #expect(
      problem(.init(seed: text))
        == """
        CLOCKS_SEED is "\(text)", but can only be a number from 0 to 9223372036854775807, or `random`. \
        Unset it for the default: the `seed:` of the test, or a number that follows from its name.
        """)
  }

  @Test(arguments: [
    "3", "0/16", "17/16", "-1/16", "3/0", "3/-16", "/", "3/", "/16", "3/16/2", "a/b", "3 / 16",
    "1/9223372036854775807", "1/99999999999999999999",
  ])
  func rejectsABadShard(_ text: String) {
    #expect(
      problem(.init(shard: text))
        == """
        CLOCKS_SHARD is "\(text)", but can only be the number of a part and the number of all parts, \
        for example 3/16 for the third of 16. Unset it for the default: the whole search.
        """)
  }

  @Test func acceptsEveryShard() throws {
    for index in 1...16 {
      let meaning = try request(.init(shard: "\(index)/16")).meaning()
      #expect(meaning.limits.shard == .init(index: index - 1, count: 16))
    }
    #expect(try request(.init(shard: "1/1")).meaning().limits.shard == .whole)
  }

  @Test func aTimeReplacesTheNumber() throws {
    let meaning = try request(.lasting(.seconds(30))).meaning()
    #expect(meaning.limits.count == .max)
    #expect(meaning.time == .seconds(30))
    #expect(meaning.limits.endsWithClasses)
    #expect(meaning.limits.mostOrders == 30_000)
    #expect(try request(.lasting(.seconds(86_400))).meaning().limits.mostOrders == 1_000_000)
    #expect(try request(.lasting(.nanoseconds(1))).meaning().limits.mostOrders == 1)
    // A number of schedules in the environment takes precedence.
    let asked = try request(.lasting(.seconds(30)), .init(count: "100000")).meaning()
    #expect(asked.limits.count == 100_000)
    #expect(asked.time == nil)
    #expect(!asked.limits.endsWithClasses)
    #expect(try !request(.upTo(5)).meaning().limits.endsWithClasses)
  }

  @Test func summariesNameTheEnd() {
    let shard = ScheduleSearch.Shard(index: 2, count: 16)
    func summary(
      _ end: ScheduleSearch.End, _ limits: ScheduleSearch.Limits, new: Int = 4
    ) -> ScheduleSummary {
      ScheduleSummary(
        schedules: 1_234, orders: 84, classes: 31, newClasses: new, end: end, limits: limits,
        time: .seconds(2))
    }
    let whole = ScheduleSearch.Limits(count: 2_000, seed: 1)
    let part = ScheduleSearch.Limits(count: 2_000, seed: 1, reversals: 2, shard: shard)
    #expect(
      summary(.allOrders, whole).description
        == "84 orders in 31 classes: all of them, if jobs take no time, in 1,234 schedules")
    #expect(summary(.allOrders, whole).isComplete)
    var stalling = whole
    stalling.bounds.stalls = 1
    stalling.bounds.stallTime = .milliseconds(1_500)
    #expect(
      summary(.allOrders, stalling).description.contains(
        ": all of them, if a stall lasts until the next deadline or 1.5 seconds, and jobs otherwise take no time, in "
      ))
    #expect(!summary(.count, whole).isComplete)
    #expect(!summary(.cancelled, whole).isComplete)
    #expect(
      summary(.allOrders, part).description
        == """
        84 orders in 31 classes: all of them of shard 3/16, if jobs take no time, in 1,234 schedules
        """)
    #expect(!summary(.allOrders, part).isComplete)
    #expect(
      summary(.allReversals, part).description
        == """
        84 orders in 31 classes: all of shard 3/16 with up to 2 reversals, if jobs take no time, in 1,234 \
        schedules
        """)
    #expect(
      summary(.count, whole).description
        == """
        84 orders in 31 classes in 1,234 schedules, as many as were asked for; 4 classes were new in the \
        last tenth
        """)
    #expect(
      summary(.time, whole, new: 1).description
        == """
        84 orders in 31 classes in 1,234 schedules, in 2.0 seconds of real time; 1 class was new in the \
        last tenth
        """)
    #expect(
      summary(.noNewClass, whole).description
        == """
        84 orders in 31 classes in 1,234 schedules; no class was new in the last half of them
        """)
  }
}
