/// A schedule as a short text: what is different from first in, first out.
///
/// `1:a.3<b.5,b~1<a.4:8f3a` is the version of the model, the constraints, and 16 bits of the order in
/// which everything ran.
struct ScheduleToken: Hashable, Sendable {
  /// The version of the model: of how steps are named, and of what first in, first out means.
  static let version = 1
  /// As many constraints has no token that a search has printed.
  private static let mostConstraints = 1_000

  var constraints: [Constraint]
  /// 16 bits of the trace's hash; `nil` for a token that was written by hand without them.
  var trace: UInt16

  /// What is wrong with a text that is to be a token.
  enum Problem: Error, Equatable {
    case version(String)
    case damaged(String)

    /// What was expected, what came, and what to do.
    var description: String {
      switch self {
      case .version(let version):
        """
        it is of version \(version) of the model, and this one is \(ScheduleToken.version): the order \
        that it stands for is not known any more. Search again with `.schedules`, and take the new \
        token.
        """
      case .damaged(let part):
        """
        \(part) is not what a token is made of. A token is the version, constraints and four \
        hexadecimal digits, for example `1:a.3<b.5:8f3a`: copy it as the failure has printed it.
        """
      }
    }
  }

  func text(_ tree: TaskTree) -> String {
    let digits = String(trace, radix: 16)
    return "\(Self.version):" + constraints.map(tree.name).joined(separator: ",") + ":"
      + String(repeating: "0", count: 4 - digits.count) + digits
  }

  init(constraints: [Constraint], trace: UInt16) {
    self.constraints = constraints
    self.trace = trace
  }

  /// Reads a token. O(length).
  init(_ text: String, _ tree: inout TaskTree) throws(Problem) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard let version = parts.first, !version.isEmpty, version.allSatisfy(\.isASCII),
      let number = Int(version), number >= 0
    else { throw .damaged("\"\(text)\"") }
    guard number == Self.version else { throw .version(String(version)) }
    guard parts.count == 3 else { throw .damaged("\"\(text)\"") }
    constraints = []
    if !parts[1].isEmpty {
      for part in parts[1].split(separator: ",", omittingEmptySubsequences: false) {
        guard constraints.count < Self.mostConstraints,
          let constraint = tree.constraint(named: part)
        else { throw .damaged("\"\(part)\"") }
        constraints.append(constraint)
      }
    }
    guard parts[2].utf8.count == 4, parts[2].allSatisfy({ $0.isHexDigit && $0.isASCII }),
      let trace = UInt16(parts[2], radix: 16)
    else { throw .damaged("\"\(parts[2])\"") }
    self.trace = trace
  }
}
