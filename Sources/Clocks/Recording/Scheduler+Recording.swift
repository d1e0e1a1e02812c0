extension ScopeOptions {
  /// Whether runs with these options were to be recorded, as far as they were too many for it.
  var wasToBeRecorded: Bool {
    switch recording {
    case .asAskedFor: false
    case .onTrial: Environment.traceFolder != nil
    case .never(let refusals): refusals.isKnown
    }
  }
}

/// What a scheduler has recorded.
extension Scheduler {
  /// Who records what happens, if somebody does.
  var recorder: Recorder? {
    // Without a conversion where nobody listens.
    change { $0.listener == nil ? nil : $0.listener(Recorder.self) }
  }

  /// Whether what happens here may be recorded on behalf of a whole test. If not, the refusal is noted.
  private var mayBeRecorded: Bool {
    var inner: Scheduler? = self
    while let scheduler = inner {
      switch scheduler.scope?.options.recording {
      case .never(let refusals):
        refusals.note()
        return false
      case .onTrial where scheduler !== self: return false
      case .onTrial, .asAskedFor, nil: inner = scheduler.parent
      }
    }
    return true
  }

  private var isOnTrial: Bool {
    if case .onTrial = scope?.options.recording { true } else { false }
  }

  /// Begins to record if that was asked for, and nobody listens yet. To be called when a clock or a
  /// scope is made.
  @inline(__always)
  func recordIfAskedFor() {
    if TimelineRequest.isAnyInForce || Environment.traceFolder != nil { beginRecordingIfAskedFor() }
  }

  @inline(never)
  private func beginRecordingIfAskedFor() {
    if let request = TimelineRequest.current {
      if beginRecording(by: request), scope == nil { recorder?.beginTest() }
    } else if let folder = Environment.traceFolder, mayBeRecorded {
      let origin = report.origin
      let isOnTrial = isOnTrial
      let isNew = beginRecording(limit: Recorder.standardLimit) { timeline in
        defer { if !isOnTrial { TraceFolder.hasDelivered() } }
        guard !timeline.isEmpty else { return }
        TraceFolder.write(timeline, to: folder, at: origin)
        TimelineHooks.attach(timeline)
      }
      guard isNew, let recorder else { return }
      if scope == nil { recorder.beginTest() }
      guard !isOnTrial else { return }
      TraceFolder.deliverAtExit(recorder)
    }
  }

  /// Begins to record on behalf of a request; returns whether nobody had recorded.
  func beginRecording(by request: TimelineRequest) -> Bool {
    guard mayBeRecorded,
      beginRecording(limit: request.limit, lines: request.lines, delivery: request.delivery),
      let recorder
    else { return false }
    request.add(recorder)
    return true
  }

  /// Begins to record; returns whether nobody had recorded.
  func beginRecording(
    limit: Int, lines: Int = 40, delivery: (@Sendable (RecordedTimeline) -> Void)? = nil
  ) -> Bool {
    guard recorder == nil else { return false }
    let origin = report.origin
    let file = "\(origin.fileID)".split(separator: "/").last?.split(separator: ".").first ?? ""
    let title = TimelineHooks.testName ?? "\(file):\(origin.line)"
    let start = change { _ in scope?.virtualClock.now ?? .zero }
    let recorder = Recorder(
      title, limit: limit, lines: lines, startingAt: start, delivery: delivery)
    return change { state in
      guard state.listener(Recorder.self) == nil else { return false }
      state.add(recorder)
      return true
    }
  }

  /// The scope has ended, and with it what is recorded of it.
  func endRecording() {
    if !isOnTrial { recorder?.deliver() }
  }
}
