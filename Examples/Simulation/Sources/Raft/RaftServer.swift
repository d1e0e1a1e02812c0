/// A server of a replicated log: elects a leader, which replicates the commands of clients.
///
/// After "In Search of an Understandable Consensus Algorithm" by Ongaro and Ousterhout, without snapshots and changes
/// of the membership.
public actor RaftServer {
  public struct Options: Sendable {
    public var heartbeat = Duration.milliseconds(50)
    public var electionTimeout: @Sendable () -> Duration = {
      .milliseconds(Int.random(in: 150...300))
    }
    /// Whether a vote goes only to a candidate whose log has at least what this server's has.
    ///
    /// Without this check, a server that missed commands can become the leader and overwrite them.
    public var comparesLogs = true

    public init() {}
  }

  private enum Role {
    case follower
    case candidate(votes: Set<String>)
    /// For each peer, how many entries agree, and after which the next are sent.
    case leader(match: [String: Int], next: [String: Int])
  }

  private let id: String
  private let peers: [String]
  private let storage: any RaftStorage
  private let transport: any RaftTransport
  private let options: Options
  private let observe: @Sendable (RaftEvent) -> Void

  private var state: RaftState
  private var role = Role.follower
  private var commit = 0
  /// How many entries of the own log survive a crash.
  private var synced: Int
  private var timer: Task<Void, Never>?
  private var timers = 0

  /// Creates a server with the state that it had when it was last synced.
  public init(
    id: String, peers: [String], storage: any RaftStorage, transport: any RaftTransport,
    options: Options = Options(), observe: @escaping @Sendable (RaftEvent) -> Void = { _ in }
  ) throws {
    self.id = id
    self.peers = peers
    self.storage = storage
    self.transport = transport
    self.options = options
    self.observe = observe
    state = try storage.read()
    synced = state.log.count
  }

  deinit { timer?.cancel() }

  /// Begins to take part in elections.
  public func start() { startElectionTimer() }

  /// Handles a message. Throws an error of the storage, and then the server must not go on.
  public func receive(_ message: RaftMessage, from sender: String) async throws {
    if let term = message.term, term > state.term { follow(term) }
    switch message {
    case .propose(let command): try await propose(command)
    case .requestVote(let term, let lastIndex, let lastTerm):
      try await answerCandidate(sender, term, lastIndex, lastTerm)
    case .vote(let term, let isGranted):
      if isGranted, term == state.term { try await count(vote: sender) }
    case .append(let term, let after, let ofTerm, let entries, let commit):
      try await append(entries, after: after, ofTerm: ofTerm, commit, from: sender, term)
    case .appended(let term, let match):
      if term == state.term { try await note(match, of: sender) }
    }
  }

  // MARK: - Time

  /// Sets the only timer anew: for a leader the next heartbeat, for others the next election.
  private func setTimer(after delay: Duration) {
    timer?.cancel()
    timers += 1
    timer = Task { [weak self, timers] in
      do {
        try await Task.sleep(for: delay)
        try await self?.timeIsUp(timers)
      } catch {
        // The timer was set anew, or the storage has failed, and then the server is silent.
      }
    }
  }

  private func startElectionTimer() { setTimer(after: options.electionTimeout()) }

  private func timeIsUp(_ number: Int) async throws {
    guard number == timers else { return }
    // Otherwise the next timer would cancel what this one does.
    timer = nil
    if case .leader = role { try await lead() } else { try await campaign() }
  }

  // MARK: - Elections

  private func follow(_ term: Int) {
    if case .leader = role { startElectionTimer() }
    role = .follower
    state.term = term
    state.vote = nil
  }

  private func campaign() async throws {
    startElectionTimer()
    state.term += 1
    state.vote = id
    role = .candidate(votes: [id])
    let request = RaftMessage.requestVote(
      term: state.term, lastIndex: state.log.count, lastTerm: state.log.last?.term ?? 0)
    try storage.write(state)
    try await storage.sync()
    for peer in peers where request.term == state.term {
      try await transport.send(request, to: peer)
    }
  }

  private func answerCandidate(
    _ candidate: String, _ term: Int, _ lastIndex: Int, _ lastTerm: Int
  ) async throws {
    let own = (state.log.last?.term ?? 0, state.log.count)
    let isUpToDate = !options.comparesLogs || (lastTerm, lastIndex) >= own
    let isFree = state.vote == nil || state.vote == candidate
    let isGranted = term == state.term && isFree && isUpToDate
    if isGranted {
      state.vote = candidate
      startElectionTimer()
    }
    let answer = RaftMessage.vote(term: state.term, isGranted: isGranted)
    try storage.write(state)
    try await storage.sync()
    try await transport.send(answer, to: candidate)
  }

  private func count(vote peer: String) async throws {
    guard case .candidate(var votes) = role else { return }
    votes.insert(peer)
    role = .candidate(votes: votes)
    guard votes.count > (peers.count + 1) / 2 else { return }
    role = .leader(
      match: [:], next: Dictionary(uniqueKeysWithValues: peers.map { ($0, state.log.count) }))
    observe(.elected(term: state.term))
    try await lead()
  }

  // MARK: - Replication

  private func lead() async throws {
    setTimer(after: options.heartbeat)
    let term = state.term
    for peer in peers where term == state.term { try await sendEntries(to: peer) }
  }

  private func sendEntries(to peer: String) async throws {
    guard case .leader(_, let next) = role, let after = next[peer] else { return }
    let message = RaftMessage.append(
      term: state.term, after: after, ofTerm: after > 0 ? state.log[after - 1].term : 0,
      entries: Array(state.log[after...]), commit: commit)
    try await transport.send(message, to: peer)
  }

  private func propose(_ command: String) async throws {
    guard case .leader = role else { return }
    state.log.append(LogEntry(term: state.term, command: command))
    try await save(entries: state.log.count, of: state.term)
    commitWhatIsReplicated()
    if case .leader = role { try await lead() }
  }

  /// Returns when the log is synced. Then its first entries, if the term is still this one, survive a crash.
  private func save(entries count: Int, of term: Int) async throws {
    try storage.write(state)
    try await storage.sync()
    if state.term == term { synced = max(synced, count) }
  }

  private func append(
    _ entries: [LogEntry], after: Int, ofTerm: Int, _ leaderCommit: Int, from leader: String,
    _ term: Int
  ) async throws {
    guard term == state.term else {
      return try await transport.send(.appended(term: state.term, match: nil), to: leader)
    }
    role = .follower
    startElectionTimer()
    let agrees = after <= state.log.count && (after == 0 || state.log[after - 1].term == ofTerm)
    guard agrees else {
      return try await transport.send(.appended(term: term, match: nil), to: leader)
    }
    var index = after
    for entry in entries {
      if index < state.log.count, state.log[index].term != entry.term {
        state.log.removeSubrange(index...)
        synced = min(synced, index)
      }
      if index == state.log.count { state.log.append(entry) }
      index += 1
    }
    commit(upTo: min(leaderCommit, index))
    try await save(entries: index, of: term)
    try await transport.send(.appended(term: term, match: index), to: leader)
  }

  private func note(_ match: Int?, of peer: String) async throws {
    guard case .leader(var matches, var next) = role else { return }
    guard let match else {
      next[peer] = max(0, (next[peer] ?? 0) - 1)
      role = .leader(match: matches, next: next)
      return try await sendEntries(to: peer)
    }
    matches[peer] = max(match, matches[peer] ?? 0)
    next[peer] = max(match, next[peer] ?? 0)
    role = .leader(match: matches, next: next)
    commitWhatIsReplicated()
  }

  private func commitWhatIsReplicated() {
    guard case .leader(let match, _) = role else { return }
    let counts = ([synced] + peers.map { match[$0] ?? 0 }).sorted(by: >)
    let count = counts[counts.count / 2]
    // An entry of an earlier term is committed with one of this term after it, and not before.
    guard count > commit, state.log[count - 1].term == state.term else { return }
    commit(upTo: count)
  }

  private func commit(upTo count: Int) {
    while commit < count {
      commit += 1
      observe(.committed(index: commit, state.log[commit - 1]))
    }
  }
}
