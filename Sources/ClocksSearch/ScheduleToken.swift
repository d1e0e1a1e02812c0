/// A schedule as a short text, which states how the schedule differs from first in, first out.
///
/// `2:a?1=3,a.3<b.5,b~1<a.4:8f3a` consists of its version, the choices, the constraints, and 16 bits of the
/// hash of the run. A token without choices has version 1.
package struct ScheduleToken: Hashable, Sendable {
  /// Changes with the rules by which steps are named and follow each other first in, first out.
  static let version = 2
  /// The version of tokens without choices.
  private static let oldest = 1

  package var choices: [Choice] = []
  package var constraints: [Constraint]
  package var trace: UInt16

  package enum Problem: Error, Equatable {
    case version(String)
    case damaged(String)

    package var description: String {
      switch self {
      case .version(let version):
        """
        it has version \(version), but this package reads versions \(ScheduleToken.oldest) to \
        \(ScheduleToken.version), and does not know which order the token stands for. Search again with \
        `.schedules`, and use the new token.
        """
      case .damaged(let part):
        """
        \(part) is not part of a token. A token is the version, choices and constraints, and four hexadecimal \
        digits, for example `1:a.3<b.5:8f3a`: copy it as the failure has printed it.
        """
      }
    }
  }

  package init(choices: [Choice] = [], constraints: [Constraint], trace: UInt16) {
    self.choices = choices
    self.constraints = constraints
    self.trace = trace
  }

  package var plan: Plan { .constraints(constraints, choices: choices) }

  package func text(_ tree: TaskTree) -> String {
    let parts = choices.map(tree.name) + constraints.map(tree.name)
    return "\(choices.isEmpty ? Self.oldest : Self.version):" + parts.joined(separator: ",") + ":"
      + String(0x10000 + Int(trace), radix: 16).dropFirst()
  }

  /// Reads a token, and adds its tasks to the tree. O(length).
  ///
  /// The number of parts has no limit: a schedule that is not shrunk has a part for each step that was overtaken.
  package init(_ text: String, _ tree: inout TaskTree) throws(Problem) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard let version = parts.first, !version.isEmpty, version.allSatisfy(\.isASCII),
      let number = Int(version), number >= 0
    else { throw .damaged("\"\(text)\"") }
    guard (Self.oldest...Self.version).contains(number) else { throw .version(String(version)) }
    guard parts.count == 3 else { throw .damaged("\"\(text)\"") }
    constraints = []
    if !parts[1].isEmpty {
      for part in parts[1].split(separator: ",", omittingEmptySubsequences: false) {
        if number > Self.oldest, let choice = tree.choice(named: part) {
          choices.append(choice)
        } else if let constraint = tree.constraint(named: part) {
          constraints.append(constraint)
        } else {
          throw .damaged("\"\(part)\"")
        }
      }
    }
    guard parts[2].utf8.count == 4, parts[2].allSatisfy({ $0.isHexDigit && $0.isASCII }),
      let trace = UInt16(parts[2], radix: 16)
    else { throw .damaged("\"\(parts[2])\"") }
    self.trace = trace
  }
}
