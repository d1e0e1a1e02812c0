/// A duration of floating-point numbers, which is not `Swift.Duration`.
struct Minutes: DurationProtocol, Hashable {
  var count: Double

  static let zero = Minutes(count: 0)

  static func + (a: Minutes, b: Minutes) -> Minutes { Minutes(count: a.count + b.count) }
  static func - (a: Minutes, b: Minutes) -> Minutes { Minutes(count: a.count - b.count) }
  static func * (a: Minutes, b: Int) -> Minutes { Minutes(count: a.count * Double(b)) }
  static func / (a: Minutes, b: Int) -> Minutes { Minutes(count: a.count / Double(b)) }
  static func / (a: Minutes, b: Minutes) -> Double { a.count / b.count }
  static func < (a: Minutes, b: Minutes) -> Bool { a.count < b.count }
}
