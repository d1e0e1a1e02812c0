/// What a scheduler has recorded.
extension Scheduler {
  /// Who records what happens, if somebody does.
  var recorder: Recorder? { change { $0.listener } as? Recorder }

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
    } else if let folder = Environment.traceFolder {
      let origin = report.origin
      let isNew = beginRecording(limit: Recorder.usualLimit) { timeline in
        guard !timeline.isEmpty else { return }
        TraceFolder.write(timeline, to: folder, at: origin)
        TimelineHooks.attach(timeline)
      }
      guard isNew, let recorder else { return }
      if scope == nil { recorder.beginTest() }
      TraceFolder.deliverAtExit(recorder)
    }
  }

  /// Begins to record on behalf of a request; returns whether nobody had listened.
  func beginRecording(by request: TimelineRequest) -> Bool {
    guard
      beginRecording(limit: request.limit, lines: request.lines, delivery: request.delivery),
      let recorder
    else { return false }
    request.add(recorder)
    return true
  }

  /// Begins to record; returns whether nobody had listened.
  func beginRecording(
    limit: Int, lines: Int = 40, delivery: (@Sendable (RecordedTimeline) -> Void)? = nil
  ) -> Bool {
    guard change({ $0.listener == nil }) else { return false }
    let origin = report.origin
    let file = "\(origin.fileID)".split(separator: "/").last?.split(separator: ".").first ?? ""
    let title = TimelineHooks.testName ?? "\(file):\(origin.line)"
    let start = change { _ in scope?.timeline.now ?? .zero }
    let recorder = Recorder(
      title, limit: limit, lines: lines, startingAt: start, delivery: delivery)
    return change { state in
      guard state.listener == nil else { return false }
      state.listener = recorder
      return true
    }
  }

  /// The scope has ended, and with it what is recorded of it.
  func endRecording() {
    guard let recorder else { return }
    recorder.deliver()
  }
}
