/// A command of a client, and the term of the leader that took it.
public struct LogEntry: Hashable, Sendable {
  public var term: Int
  public var command: String

  public init(term: Int, command: String) {
    self.term = term
    self.command = command
  }
}

/// What a server must not forget in a crash.
public struct RaftState: Hashable, Sendable {
  public var term = 0
  /// The candidate that got this server's vote in the term.
  public var vote: String?
  public var log: [LogEntry] = []

  public init() {}
}

public enum RaftMessage: Hashable, Sendable {
  case propose(String)
  case requestVote(term: Int, lastIndex: Int, lastTerm: Int)
  case vote(term: Int, isGranted: Bool)
  case append(term: Int, after: Int, ofTerm: Int, entries: [LogEntry], commit: Int)
  /// `match` is the number of entries that are known to agree; `nil` if those before do not.
  case appended(term: Int, match: Int?)

  var term: Int? {
    switch self {
    case .propose: nil
    case .requestVote(let term, _, _), .vote(let term, _), .append(let term, _, _, _, _),
      .appended(let term, _):
      term
    }
  }
}

/// A file, for example.
public protocol RaftStorage: Sendable {
  func read() throws -> RaftState
  func write(_ state: RaftState) throws
  /// Returns when what was written survives a crash.
  func sync() async throws
}

public protocol RaftTransport: Sendable {
  func send(_ message: RaftMessage, to server: String) async throws
}

public enum RaftEvent: Hashable, Sendable {
  case elected(term: Int)
  /// Entry `index`, counted from 1, is replicated on a majority.
  case committed(index: Int, LogEntry)
}
