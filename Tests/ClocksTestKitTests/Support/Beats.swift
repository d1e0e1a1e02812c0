/// Whole beats, which are not `Swift.Duration`.
struct Beats: DurationProtocol, Hashable {
  var count: Int

  static let zero = Beats(count: 0)

  static func + (a: Beats, b: Beats) -> Beats { Beats(count: a.count + b.count) }
  static func - (a: Beats, b: Beats) -> Beats { Beats(count: a.count - b.count) }
  static func * (a: Beats, b: Int) -> Beats { Beats(count: a.count * b) }
  static func / (a: Beats, b: Int) -> Beats { Beats(count: a.count / b) }
  static func / (a: Beats, b: Beats) -> Double { Double(a.count) / Double(b.count) }
  static func < (a: Beats, b: Beats) -> Bool { a.count < b.count }
}
