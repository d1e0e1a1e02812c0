import ClocksSupport

/// The virtual time that the tasks of a scope slept, for each place in the code at which they sleep.
///
/// When time jumps, the scope is idle, so the task that wakes next is suspended and can be read. Guarded by the
/// scheduler's lock.
package final class SleepPlaces {
  /// The code that continues after a sleep, the innermost function first; or the name of a timed callback.
  enum Place: Hashable, Sendable {
    case functions([UInt])
    case callback(String)
  }

  private static let images = CodeImages()
  private lazy var reader = TaskReader(Self.images)
  private var times: [Place: Duration] = [:]

  /// Called after a scope was made, when the hooks are installed. The caller holds no lock, because the first call
  /// creates tasks.
  static func prepare() { _ = (images, TaskLayoutProbe.here) }

  /// Notes that time is about to jump to the earliest deadline. O(depth of the call stack of the sleep).
  func timeJumps(on virtualClock: VirtualClock) {
    guard let sleep = virtualClock.sleeps.first, sleep.deadline > virtualClock.now else { return }
    let functions = sleep.details.task.map { reader.functions(of: $0.job) } ?? []
    let place =
      functions.isEmpty
      ? Place.callback(sleep.taskName ?? "a task that is not known")
      : .functions(Array(functions.prefix(12)))
    times[place, default: .zero] += sleep.deadline - virtualClock.now
  }

  /// The times by place. Each code address is relative to its file, as in `0x1f40 /path/of/the/bundle`.
  var all: [(place: [String], time: Duration)] {
    times.map { place, time in
      switch place {
      case .functions(let functions): (functions.compactMap(file), time)
      case .callback(let name): ([name], time)
      }
    }
  }

  private func file(_ address: UInt) -> String? {
    Self.images.image(of: address).map {
      "0x" + String(address - $0.base, radix: 16) + " " + $0.path
    }
  }

  /// Returns the function and the line of the innermost user code at each place. O(debug information).
  package static func names(of places: [[String]]) -> [String] {
    let parsed = places.map { $0.map(codePlace) }
    let meanings = Symbolizer.meanings(of: Array(Set(parsed.joined().compactMap(\.self))))
    return zip(places, parsed).map { texts, codes in
      guard let first = texts.first, codes.contains(where: { $0 != nil }) else {
        return texts.first ?? "unknown code"
      }
      for code in codes.compactMap(\.self) {
        guard let meaning = meanings?[code], let function = meaning.function, function.isOfUser
        else { continue }
        return function.text + (meaning.line.map { " at \($0.file):\($0.line)" } ?? "")
      }
      return meanings == nil ? "code at \(first)" : "a library"
    }
  }

  private static func codePlace(_ text: String) -> CodePlace? {
    guard text.hasPrefix("0x"), let space = text.firstIndex(of: " "),
      let address = UInt(text[..<space].dropFirst(2), radix: 16)
    else { return nil }
    return CodePlace(path: String(text[text.index(after: space)...]), address: address)
  }
}
