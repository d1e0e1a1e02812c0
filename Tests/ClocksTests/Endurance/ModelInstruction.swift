/// An instruction of a task in the model. A step of a program is a few instructions.
///
/// The instructions model what the Swift runtime and the standard library (6.3.1) decide: how many jobs an
/// operation takes, and where each job runs. A suspended task always resumes on no actor, and then hops to
/// its own actor.
enum ModelInstruction {
  /// Logs an event, with the given result or else that of the last operation.
  case note(step: Int, Int?)
  /// Hops to a place.
  case change(to: ModelPlace)
  /// Determines the deadline of a sleep and its place in the order of sleeps; skips some instructions
  /// if there is nothing to wait for.
  case announceSleep(Int, orSkip: Int)
  case sleep
  case sleepOnRuntime(Int)
  case yield
  case start(Program.Start, Program.Body)
  case beginGroup
  case startChild(Program.Body)
  case awaitChildren
  case join(Int)
  case cancel(Int)
  case send(Int, Int)
  case receive(Int)
  case settle
  case advance(Int)
  case advanceTo(Int)
  case advanceToNextSleep
  case runClock
  case look
  case finishStreams
  /// Starts again with `finishStreams`, a given number of instructions ago, if a task is left.
  case repeatIfUnfinished(Int)
}

/// Where a task runs.
enum ModelPlace: Equatable {
  case generic
  case main
  case actor(Int)
}

extension ModelInstruction {
  static func root(_ program: Program) -> [ModelInstruction] {
    steps(program.root.steps, of: 0, on: .generic)
      + [.finishStreams, .runClock, .note(step: Event.epilogue, 0), .repeatIfUnfinished(3)]
  }

  static func body(_ body: Program.Body, on place: ModelPlace) -> [ModelInstruction] {
    [.note(step: Event.began, 0)] + steps(body.steps, of: body.task, on: place)
      + [.note(step: Event.ended, 0)]
  }

  private static func steps(
    _ steps: [Program.Step], of task: Int, on place: ModelPlace
  ) -> [ModelInstruction] {
    steps.flatMap { operation($0, of: task, on: place) + [.note(step: $0.number, nil)] }
  }

  private static func operation(
    _ step: Program.Step, of task: Int, on place: ModelPlace
  ) -> [ModelInstruction] {
    switch step.operation {
    case .sleepUntil(let seconds):
      // The closure that is given to `withTaskCancellationHandler` leaves the caller's actor.
      [.announceSleep(seconds, orSkip: 2), .change(to: .generic), .sleep, .change(to: place)]
    case .sleepFor(let seconds):
      // Not isolated as its caller is, so it leaves the caller's actor.
      [.change(to: .generic), .announceSleep(seconds, orSkip: 1), .sleep, .change(to: place)]
    case .sleepOnRuntime(let seconds):
      [.change(to: .generic), .sleepOnRuntime(seconds), .change(to: place)]
    case .yield:
      [.change(to: .generic), .yield, .change(to: place)]
    case .start(let start, let body):
      [.start(start, body)]
    case .group(let children, let steps):
      [.beginGroup] + children.map { .startChild($0) } + self.steps(steps, of: task, on: place)
        + [.change(to: .generic), .awaitChildren, .change(to: place)]
    case .join(let other):
      [.join(other), .change(to: place)]
    case .cancel(let other):
      [.cancel(other)]
    case .send(let stream):
      [.send(stream, step.number)]
    case .receive(let stream):
      [.change(to: .generic), .receive(stream), .change(to: place)]
    case .onPlace(let number, let steps):
      [.change(to: .actor(number))] + self.steps(steps, of: task, on: .actor(number))
        + [.change(to: place)]
    case .onMain(let steps):
      [.change(to: .main)] + self.steps(steps, of: task, on: .main) + [.change(to: place)]
    case .settle: [.settle, .change(to: place)]
    case .advance(let seconds): [.advance(seconds), .change(to: place)]
    case .advanceTo(let seconds): [.advanceTo(seconds), .change(to: place)]
    case .advanceToNextSleep: [.advanceToNextSleep, .change(to: place)]
    case .look: [.look]
    }
  }
}
