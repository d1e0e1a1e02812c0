/// A duration that is not `Swift.Duration`: a whole number of beats.
package struct Beats: DurationProtocol, Hashable {
  package var count: Int

  package init(count: Int) {
    self.count = count
  }

  package static let zero = Beats(count: 0)

  package static func + (a: Beats, b: Beats) -> Beats { Beats(count: a.count + b.count) }
  package static func - (a: Beats, b: Beats) -> Beats { Beats(count: a.count - b.count) }
  package static func * (a: Beats, b: Int) -> Beats { Beats(count: a.count * b) }
  package static func / (a: Beats, b: Int) -> Beats { Beats(count: a.count / b) }
  package static func / (a: Beats, b: Beats) -> Double { Double(a.count) / Double(b.count) }
  package static func < (a: Beats, b: Beats) -> Bool { a.count < b.count }
}
