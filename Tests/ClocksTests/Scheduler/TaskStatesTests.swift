import ClocksSearch
import Testing

@testable import Clocks

/// The states of a scheduler's tasks, at random, against a dictionary.
@Suite struct TaskStatesTests {
  // MARK: - External tasks

  /// The state of a task in the model.
  private enum State: Hashable {
    case none, unverified, external, abandoned, stopped
  }

  private struct Model: Equatable {
    var state = State.none
    var mayHaveRun = false
    var runs = 0
  }

  /// Tasks that are enqueued, and so active, as long as the test's job runs; and tasks that are over.
  private struct Tasks {
    let active: [RetainedTask]
    let over: [RetainedTask]
    var all: [RetainedTask] { active + over }

    init(over: [RetainedTask]) {
      self.over = over
      active = (0..<4).map { _ in .any() }
    }

    static func ended() async -> [RetainedTask] {
      var tasks: [RetainedTask] = []
      for _ in 0..<4 {
        let task = Task {}
        await task.value
        tasks.append(.retaining(task))
      }
      return tasks
    }
  }

  @Test(.repeated(20)) func externalTasksBehaveAsADictionary() async {
    // Its tasks are ready, and do not run before this job has ended.
    let clock = TestClock()
    let tasks = Tasks(over: await Tasks.ended())
    let owner = Scheduler(origin: .here())
    var random = Mixer(seed: UInt64(RepeatedTrait.number))
    var external = ExternalTasks()
    var model: [UInt64: Model] = [:]
    for _ in 0..<3_000 {
      let task = tasks.all.randomElement(using: &random)!
      let id = task.id
      let isActive = tasks.active.contains { $0.id == id }
      var known = model[id] ?? Model()
      let isFinal = known.state == .abandoned || known.state == .stopped
      switch UInt8.random(in: 0..<100, using: &random) {
      case 0..<20:
        let mayHaveRun = isActive && Bool.random(using: &random)
        external.noteMayRunExternally(task, mayHaveRun: mayHaveRun, hasAsyncLets: false)
        if known.state == .none { known.state = .unverified }
        if !isFinal, mayHaveRun { known.mayHaveRun = true }
      case 20..<35 where isActive:
        let isFirst = external.externalJobBegan(task)
        #expect(isFirst == (!isFinal && known.runs == 0))
        if known.state == .none { known.state = .unverified }
        if !isFinal {
          known.mayHaveRun = true
          known.runs += 1
        }
      case 35..<50:
        let isLast = external.externalJobEnded(id)
        #expect(isLast == (known.runs == 1))
        if known.runs > 0 { known.runs -= 1 }
      case 50..<65:
        let found = external.verify(for: owner) { _ in false }
        var expected: [UInt64] = []
        for (id, var entry) in model where entry.state == .unverified && entry.runs == 0 {
          if tasks.active.contains(where: { $0.id == id }) {
            entry.state = .external
            expected.append(id)
            model[id] = entry
          } else {
            model[id] = nil
          }
        }
        #expect(found.external.sorted() == expected.sorted())
        #expect(external.mustVerify == false)
        known = model[id] ?? Model()
      case 65..<80:
        let arrival = external.jobArrived(of: id)
        switch known.state {
        case .external:
          #expect(arrival == .ofReturningTask(wasSeenExternal: true))
          // It is active, so it may become external again.
          known.state = .unverified
          known.mayHaveRun = true
        case .stopped: #expect(arrival == .ofStoppedTask)
        case .none, .unverified, .abandoned: #expect(arrival == .ofKnownTask)
        }
      case 80..<95:
        if case .external(let absence) = external.state(of: id) {
          #expect(external.absenceEnded(absence + 1, of: id) == nil)
          // The registry does not retain the task.
          ExternalTaskRegistry.remove(absence)
          #expect(external.absenceEnded(absence, of: id) == true)
          known.state = .unverified
          known.mayHaveRun = true
        } else {
          #expect(external.absenceEnded(1, of: id) == nil)
        }
      case 95 where !isActive:
        external.stop(id)
        known = Model(state: .stopped)
      case 96:
        let (ids, _) = external.abandon()
        let expected = model.filter { $0.value.state == .external || $0.value.runs > 0 }.keys
        #expect(ids == expected.sorted())
        for id in expected { model[id] = Model(state: .abandoned) }
        known = model[id] ?? Model()
        if model.values.count(where: { $0.state == .abandoned }) == tasks.active.count {
          // From here on nothing could happen to them.
          external = ExternalTasks()
          model = [:]
          known = Model()
        }
      default: break
      }
      model[id] = known.state == .none ? nil : known
      for task in tasks.all {
        let state: State =
          switch external.state(of: task.id) {
          case .none: .none
          case .unverified: .unverified
          case .external: .external
          case .awaitingAsyncLet: .none
          case .abandoned: .abandoned
          case .stopped: .stopped
          }
        #expect(state == model[task.id]?.state ?? .none)
      }
      #expect(external.external == model.values.count { $0.state == .external })
      #expect(external.running == model.values.count { $0.runs > 0 })
      external.checkInvariants()
    }
    _ = external.abandon()
    withExtendedLifetime((clock, tasks)) {}
  }

  @Test func anAbandonedTaskIsNotWaitedForAgain() async {
    let clock = TestClock()
    let task = RetainedTask.any()
    var external = ExternalTasks()
    #expect(external.externalJobBegan(task) == true)
    #expect(external.abandon().ids == [task.id])
    #expect(external.areOutstanding == false)
    #expect(external.externalJobEnded(task.id) == false)
    #expect(external.externalJobBegan(task) == false)
    external.noteMayRunExternally(task, mayHaveRun: true, hasAsyncLets: true)
    #expect(external.state(of: task.id) == .abandoned)
    #expect(external.mustVerify == false)
    withExtendedLifetime(clock) {}
  }

  // MARK: - Runtime sleeps

  private enum Sleep: Equatable {
    case none
    case sleeping(UInt64)
    case delayed(UInt64)
    case cancelledEarly(UInt64)
  }

  /// Here the number of a sleep stands for the task, and so identifies the job.
  private func suspend(
    on virtualClock: VirtualClock, number nextSleep: inout UInt64,
    _ random: inout Mixer
  ) -> SleepQueue.Token {
    let token = virtualClock.sleeps.add(
      .job(ReadyJob(of: nextSleep)),
      until: .seconds(Int.random(in: 1...50, using: &random)),
      details: .init(registered: .zero, clock: .continuous))
    precondition(token.number == nextSleep)
    nextSleep += 1
    return token
  }

  @Test(.repeated(20)) func runtimeSleepsBehaveAsADictionary() async {
    let virtualClock = VirtualClock(now: .zero)
    var random = Mixer(seed: UInt64(RepeatedTrait.number))
    var sleeps = RuntimeSleeps()
    var nextSleep: UInt64 = 0
    let tasks = (0..<8).map { number in
      let task = Task {}
      if number % 2 == 0 { task.cancel() }
      return RetainedTask.retaining(task)
    }
    var model: [UInt64: Sleep] = [:]
    var pending: Set<UInt64> = []
    var begun: [(task: RetainedTask, number: UInt64)] = []
    func early(_ sleep: Sleep?) -> UInt64? {
      if case .cancelledEarly(let number)? = sleep { number } else { nil }
    }
    for _ in 0..<2_000 {
      let task = tasks.randomElement(using: &random)!
      let id = task.id
      switch UInt8.random(in: 0..<60, using: &random) {
      case 0..<15:
        let token = suspend(on: virtualClock, number: &nextSleep, &random)
        pending.insert(token.number)
        #expect(sleeps.begin(token, of: UnownedTask(job: task.job), id)?.taskID == early(model[id]))
        model[id] = .sleeping(token.number)
        begun.append((task, token.number))
      case 15..<20:
        let token = suspend(on: virtualClock, number: &nextSleep, &random)
        pending.insert(token.number)
        #expect(sleeps.beginDelay(token, of: id)?.taskID == early(model[id]))
        model[id] = .delayed(token.number)
      case 20..<30:
        let ended = sleeps.endCancelled(on: virtualClock)
        var jobs: [UInt64] = []
        let cancelled = begun.reversed().filter(\.task.isCancelled)
        for (task, number) in cancelled where pending.remove(number) != nil {
          if let old = early(model[task.id]) { jobs.append(old) }
          model[task.id] = .cancelledEarly(number)
        }
        #expect((ended?.tasks ?? []).map(\.id) == cancelled.map(\.task.id))
        #expect((ended?.jobs ?? []).map(\.taskID) == jobs)
        #expect(sleeps.haveBegun == false)
        begun = []
      case 30..<45:
        let job = sleeps.taskBecameReady(id, on: virtualClock)?.taskID
        switch model[id] ?? .none {
        case .none, .delayed: #expect(job == nil)
        case .cancelledEarly(let number): #expect(job == number)
        case .sleeping(let number): #expect(job == (pending.remove(number) == nil ? nil : number))
        }
        model[id] = nil
      case 45..<50:
        let job = sleeps.endDelay(of: id, on: virtualClock)?.taskID
        if case .delayed(let number)? = model[id] {
          #expect(job == (pending.remove(number) == nil ? nil : number))
          model[id] = nil
        } else {
          #expect(job == nil)
        }
      case 50..<53:
        sleeps.delayEnded(of: id)
        if case .delayed? = model[id] { model[id] = nil }
      case 53..<56 where virtualClock.sleeps.count > 0:
        guard case .job(let job) = virtualClock.sleeps.popEarliest() else { break }
        pending.remove(job.taskID)
      case 56:
        let jobs = sleeps.takeCancelledEarly().map(\.taskID)
        #expect(jobs.sorted() == model.values.compactMap(early).sorted())
        model = model.filter { early($0.value) == nil }
      default: break
      }
      for task in tasks {
        let isDelayed = if case .delayed? = model[task.id] { true } else { false }
        #expect(sleeps.isDelayed(task.id) == isDelayed)
      }
      #expect(virtualClock.sleeps.count == pending.count)
    }
    withExtendedLifetime(tasks) {}
  }
}
