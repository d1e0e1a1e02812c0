import ClocksSearch

extension Program {
  /// Returns a random program of about `size` steps. Equal seeds give equal programs.
  static func random(seed: UInt64, size: Int) -> Program {
    var author = Author(seed: seed, left: size)
    return Program(seed: seed, root: author.root())
  }

  /// Writes programs.
  private struct Author {
    private var random: Mixer
    private var left: Int
    private var steps = 0
    private var tasks = 0

    init(seed: UInt64, left: Int) {
      random = Mixer(seed: seed)
      self.left = left
    }

    mutating func root() -> Body {
      var body = Body(task: 0, steps: [])
      while left > 0 { body.steps.append(step(depth: 0, of: 0)) }
      return body
    }

    private mutating func body(depth: Int) -> Body {
      tasks += 1
      let task = tasks
      return Body(task: task, steps: list(upTo: 7, depth: depth, of: task))
    }

    private mutating func list(upTo count: Int, depth: Int, of task: Int) -> [Step] {
      (0..<Int.random(in: 1...count, using: &random)).map { _ in step(depth: depth, of: task) }
    }

    private mutating func step(depth: Int, of task: Int) -> Step {
      left -= 1
      steps += 1
      let number = steps
      var operation = operation(depth: depth + 1, of: task)
      // If the root did not move time, it would wait forever.
      while task == 0, operation.mayWaitForTime {
        operation = self.operation(depth: depth + 1, of: task)
      }
      return Step(number: number, operation: operation)
    }

    private mutating func below(_ end: Int) -> Int { Int.random(in: 0..<end, using: &random) }

    private mutating func operation(depth: Int, of task: Int) -> Operation {
      // Steps that contain other steps become rarer with depth.
      let isLeaf = depth > 4 || left <= 0
      switch below(isLeaf ? 16 : 30) {
      case 0...2: return .sleepUntil(below(5))
      case 3: return .sleepFor(below(5))
      case 4: return .sleepOnRuntime(below(5))
      case 5: return .yield
      case 6: return .join(1 + below(tasks + 2))
      case 7...8: return .cancel(1 + below(tasks + 2))
      case 9: return .send(below(Program.streams))
      case 10: return .receive(below(Program.streams))
      case 11: return .settle
      case 12: return .advance(below(5))
      case 13: return .advanceTo(below(5))
      case 14: return .advanceToNextSleep
      case 15: return .look
      case 16...18: return .start(.task, body(depth: depth))
      case 19...20: return .start(.detached, body(depth: depth))
      case 21...22: return .start(.mainActor, body(depth: depth))
      case 23...24:
        let children = (0..<(1 + below(3))).map { _ in body(depth: depth) }
        return .group(children, list(upTo: 3, depth: depth, of: task))
      case 25...27: return .onPlace(below(Program.places), list(upTo: 4, depth: depth, of: task))
      default: return .onMain(list(upTo: 4, depth: depth, of: task))
      }
    }
  }
}

extension Program.Operation {
  fileprivate var mayWaitForTime: Bool {
    switch self {
    case .sleepUntil, .sleepFor, .sleepOnRuntime, .join, .receive, .group: true
    default: false
    }
  }
}
