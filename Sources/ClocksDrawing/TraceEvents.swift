import ClocksSupport

/// A history in the trace-event format, which Perfetto and Chrome open, with virtual time as time.
///
/// Google's "Trace Event Format" describes the format. Instants are in microseconds, with three digits for
/// nanoseconds.
package struct TraceEvents {
  /// At most this many recorded events are written, the latest ones.
  package static let mostEvents = 200_000

  private var lines: [String] = []

  package static func json(_ history: History, title: String) -> String {
    var events = TraceEvents()
    events.write(history, title)
    return """
      {"displayTimeUnit":"ns","otherData":{"clock":"virtual time","title":\(title.quoted)},\
      "traceEvents":[
      \(events.lines.joined(separator: ",\n"))
      ]}

      """
  }

  private mutating func write(_ history: History, _ title: String) {
    addMetadata(0, "process_name", #""name":\#(title.quoted)"#)
    for (place, task) in history.tasks.enumerated() {
      addMetadata(place + 1, "thread_name", #""name":\#(task.title.quoted),"id":\#(task.id)"#)
      addMetadata(place + 1, "thread_sort_index", #""sort_index":\#(place)"#)
    }
    for job in history.jobs {
      let actor = job.actor.map { history.actors[$0] }
      add(
        "X", job.task, job.at, actor ?? "job", "job", #""dur":0,"#,
        args: [("actor", actor?.quoted), ("order", "\(job.at.job)")])
    }
    for span in history.spans {
      let length = #""dur":\#(span.end.time.since(span.begin.time).inMicroseconds),"#
      let isSleep = span.kind != .external
      let kind = isSleep ? "sleep" : "external"
      let end = isSleep ? "\(span.kind)".quoted : nil
      add(
        "X", span.task, span.begin, kind, kind, length,
        args: [("until", span.deadline?.inSeconds.quoted), ("end", end)])
    }
    for (number, link) in history.links.enumerated() {
      add("s", link.from, link.at, "\(link.kind)", "link", #""id":\#(number),"#)
      add("f", link.to, link.at, "\(link.kind)", "link", #""bp":"e","id":\#(number),"#)
    }
    for mark in history.marks {
      let scope = mark.task == nil ? "p" : "t"
      add("i", mark.task ?? -1, mark.at, mark.text, "mark", #""s":"\#(scope)","#)
    }
  }

  private mutating func addMetadata(_ thread: Int, _ name: String, _ args: String) {
    lines.append(#"{"ph":"M","pid":1,"tid":\#(thread),"name":"\#(name)","args":{\#(args)}}"#)
  }

  private mutating func add(
    _ phase: String, _ task: Int, _ at: History.Moment, _ name: String, _ category: String,
    _ more: String, args: [(String, String?)] = []
  ) {
    let args = args.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }
    let text = args.isEmpty ? "" : #","args":{\#(args.joined(separator: ","))}"#
    lines.append(
      #"{"ph":"\#(phase)","pid":1,"tid":\#(task + 1),"ts":\#(at.time.inMicroseconds),\#(more)"#
        + #""cat":"\#(category)","name":\#(name.quoted)\#(text)}"#)
  }
}

extension Duration {
  /// The number of microseconds, with digits for nanoseconds if there are any.
  fileprivate var inMicroseconds: String {
    let nanoseconds = attoseconds / 1_000_000_000
    let (whole, rest) = nanoseconds.magnitude.quotientAndRemainder(dividingBy: 1_000)
    let sign = nanoseconds < 0 ? "-" : ""
    // Adding 1,000 keeps the fraction's leading zeros; the added digit is dropped.
    return "\(sign)\(whole)" + (rest == 0 ? "" : "." + String(1_000 + rest).dropFirst())
  }
}
