import ClocksSupport

/// A history in the trace-event format, which Perfetto and Chrome open; virtual time as time.
///
/// The format is described in "Trace Event Format" (Google). Instants are in microseconds, with three
/// digits for nanoseconds.
struct TraceEvents {
  /// What of a very long history is written: the latest events.
  static let mostEvents = 200_000

  private var lines: [String] = []

  static func json(_ history: History, title: String) -> String {
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
    lines.append(
      #"{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":\#(title.quoted)}}"#)
    for (place, task) in history.tasks.enumerated() {
      name(place, task)
    }
    for job in history.jobs {
      let actor = job.actor.map { history.actors[$0] }
      add(
        "X", job.task, job.at, actor ?? "job", "job", #""dur":0,"#,
        args: [("actor", actor?.quoted), ("order", "\(job.at.job)")])
    }
    for sleep in history.sleeps {
      let length = saturatingDifference(sleep.end.time, sleep.begin.time).inMicroseconds
      add(
        "X", sleep.task, sleep.begin, "sleep", "sleep", #""dur":\#(length),"#,
        args: [
          ("until", sleep.deadline?.inSeconds.quoted), ("end", "\(sleep.how)".quoted),
        ])
    }
    for absence in history.absences {
      let length = saturatingDifference(absence.end.time, absence.begin.time).inMicroseconds
      add("X", absence.task, absence.begin, "away", "away", #""dur":\#(length),"#)
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

  private mutating func name(_ place: Int, _ task: History.Task) {
    lines.append(
      #"{"ph":"M","pid":1,"tid":\#(place + 1),"name":"thread_name","args":{"name":"#
        + #"\#(task.title.quoted),"id":\#(task.id)}}"#)
    lines.append(
      #"{"ph":"M","pid":1,"tid":\#(place + 1),"name":"thread_sort_index","args":{"sort_index":"#
        + "\(place)}}")
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
    guard rest != 0 else { return "\(sign)\(whole)" }
    let digits = String(rest)
    return "\(sign)\(whole)." + String(repeating: "0", count: 3 - digits.count) + digits
  }
}

extension String {
  /// The text as a string of JSON.
  var quoted: String {
    var result = "\""
    for scalar in unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
