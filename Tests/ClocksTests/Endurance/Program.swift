/// A small program of tasks that sleep, start, cancel, join and signal each other.
///
/// It is data. So real tasks on a `TestClock` can carry it out, and so can ``ModelMachine``, which knows the semantics
/// and nothing else. And a program with which the two disagree can be made shorter.
///
/// Every program ends. A task joins only tasks with greater numbers than its own. The root finishes all streams, and
/// runs the clock until no task is left.
struct Program: Sendable {
  var seed: UInt64
  var root: Body

  static let streams = 2
  static let places = 2

  /// The steps of one task.
  struct Body: Sendable {
    /// The number of the task, in the order in which the program is written; the root's is 0.
    var task: Int
    var steps: [Step]
  }

  /// One operation, with a number of its own that it keeps when others are removed.
  struct Step: Sendable {
    var number: Int
    var operation: Operation
  }

  /// Times are in seconds.
  indirect enum Operation: Sendable {
    /// Sleeps until the instant at this distance from now.
    case sleepUntil(Int)
    /// Sleeps with the standard library's `sleep(for:)`.
    case sleepFor(Int)
    /// Sleeps on the runtime's own clock, if time is virtual throughout; else as `sleepFor`.
    case sleepOnRuntime(Int)
    case yield
    case start(Start, Body)
    /// Starts child tasks, runs steps of its own, and waits for the children.
    case group([Body], [Step])
    case join(Int)
    case cancel(Int)
    case send(Int)
    case receive(Int)
    /// Does something on an actor, as one call of an actor's method.
    case onPlace(Int, [Step])
    case onMain([Step])
    case settle
    case advance(Int)
    case advanceTo(Int)
    case advanceToNextSleep
    /// Reads the pending sleeps.
    case look
  }

  /// How a task is started.
  enum Start: Sendable {
    case task
    case detached
    case mainActor
  }
}

// MARK: - Inspecting a program

extension Program.Operation {
  /// The steps inside this one, of all tasks.
  var inner: [Program.Step] {
    switch self {
    case .start(_, let body): body.steps
    case .group(let children, let steps): children.flatMap(\.steps) + steps
    case .onPlace(_, let steps), .onMain(let steps): steps
    default: []
    }
  }
}

extension Program {
  /// The numbers of all its steps.
  var stepNumbers: [Int] {
    func numbers(_ steps: [Step]) -> [Int] {
      steps.flatMap { [$0.number] + numbers($0.operation.inner) }
    }
    return numbers(root.steps)
  }

  /// The program without some of its steps, and without what is inside them.
  func removing(_ numbers: Set<Int>) -> Program {
    func kept(_ body: Body) -> Body { Body(task: body.task, steps: kept(body.steps)) }
    func kept(_ steps: [Step]) -> [Step] {
      steps.filter { !numbers.contains($0.number) }.map { step in
        let operation: Operation =
          switch step.operation {
          case .start(let start, let body): .start(start, kept(body))
          case .group(let children, let steps): .group(children.map { kept($0) }, kept(steps))
          case .onPlace(let place, let steps): .onPlace(place, kept(steps))
          case .onMain(let steps): .onMain(kept(steps))
          case let other: other
          }
        return Step(number: step.number, operation: operation)
      }
    }
    return Program(seed: seed, root: kept(root))
  }
}

extension Program: CustomStringConvertible {
  /// A line for each step, indented as the steps are nested.
  var description: String {
    var lines = ["seed \(seed)"]
    func list(_ steps: [Step], _ indentation: String) {
      for step in steps {
        let name: String =
          switch step.operation {
          case .start(let start, let body): "start \(start) #\(body.task)"
          case .group(let children, _): "group \(children.map { "#\($0.task)" })"
          case .onPlace(let place, _): "on actor \(place)"
          case .onMain: "on the main actor"
          case let other: "\(other)"
          }
        lines.append("\(indentation)\(step.number): \(name)")
        if case .group(let children, let steps) = step.operation {
          for child in children {
            lines.append("\(indentation)  child #\(child.task)")
            list(child.steps, indentation + "    ")
          }
          list(steps, indentation + "  ")
        } else {
          list(step.operation.inner, indentation + "  ")
        }
      }
    }
    list(root.steps, "  ")
    return lines.joined(separator: "\n")
  }
}

/// An event of a run: one step of one task.
struct Event: Sendable, Hashable, CustomStringConvertible {
  /// The clock's time, in seconds.
  var time: Int
  var task: Int
  /// The step that is done; or one of the values below.
  var step: Int
  /// The result of the step.
  var result: Int

  static let began = -1
  static let ended = -2
  static let epilogue = -3

  static let cancelled = -1
  static let nothing = -2

  var description: String {
    let what =
      switch step {
      case Self.began: "began"
      case Self.ended: "ended"
      case Self.epilogue: "ran the clock"
      default: "step \(step)"
      }
    let outcome =
      switch result {
      case 0: ""
      case Self.cancelled: ", cancelled"
      case Self.nothing: ", nothing there"
      default: ", \(result)"
      }
    return "at \(time): #\(task) \(what)\(outcome)"
  }
}

/// The log of one run of a program.
struct ProgramLog: Sendable, Equatable {
  var events: [Event]
  /// The jobs: for each the number of its task in the order of appearance, or 0 without a task, and its executor kind.
  var jobs: [String]
}
