/// The text of a picture, element by element.
struct SVGText {
  private(set) var text = ""

  mutating func add(_ element: String) {
    text += "  "
    text += element
    text += "\n"
  }

  mutating func rect(
    _ kind: String, _ x: Double, _ y: Double, _ width: Double, _ height: Double, radius: Double = 0,
    title: String = ""
  ) {
    let corner = radius > 0 ? " rx=\"\(radius.svg)\"" : ""
    let start =
      "<rect class=\"\(kind)\" x=\"\(x.svg)\" y=\"\(y.svg)\" width=\"\(width.svg)\" "
      + "height=\"\(height.svg)\"\(corner)"
    add(title.isEmpty ? start + "/>" : start + "><title>\(title.escaped)</title></rect>")
  }

  mutating func path(_ kind: String, _ path: String, title: String = "") {
    let start = "<path class=\"\(kind)\" d=\"\(path)\""
    add(title.isEmpty ? start + "/>" : start + "><title>\(title.escaped)</title></path>")
  }

  mutating func line(_ kind: String, _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) {
    path(kind, "M\(x1.svg) \(y1.svg)L\(x2.svg) \(y2.svg)")
  }

  /// Writes words, cut to `room` with the whole as a title.
  mutating func words(
    _ kind: String, _ x: Double, _ y: Double, _ words: String, size: Double,
    room: Double = .infinity,
    title: String = ""
  ) {
    let words = words.printable
    let cut = words.cut(toFit: room, size: size)
    let whole = title.isEmpty && cut != words ? words : title
    let tip = whole.isEmpty ? "" : "<title>\(whole.escaped)</title>"
    let fontSize = size == 12 ? "" : " font-size=\"\(size.svg)\""
    add(
      "<text class=\"\(kind)\" x=\"\(x.svg)\" y=\"\(y.svg)\"\(fontSize)>\(tip)\(cut.escaped)</text>"
    )
  }
}

extension Double {
  /// The number with at most one digit after the point.
  var svg: String {
    guard isFinite else { return "0" }
    let tenths = Int((self * 10).rounded())
    let sign = tenths < 0 ? "-" : ""
    let (whole, tenth) = tenths.magnitude.quotientAndRemainder(dividingBy: 10)
    return tenth == 0 ? "\(sign)\(whole)" : "\(sign)\(whole).\(tenth)"
  }
}

extension String {
  /// The text with nothing in it that XML does not allow, or that would end it.
  var escaped: String {
    var result = ""
    for scalar in printable.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// The room that the text takes at most in the usual fonts at a size.
  func room(size: Double) -> Double { reduce(0) { $0 + $1.breadth } * size }

  /// The text, or its beginning with an ellipsis if it does not fit.
  func cut(toFit room: Double, size: Double) -> String {
    guard self.room(size: size) > room else { return self }
    var (beginning, rest) = ("", room - Character("…").breadth * size)
    for character in self {
      rest -= character.breadth * size
      guard rest >= 0 else { break }
      beginning.append(character)
    }
    return beginning + "…"
  }
}

extension Character {
  /// The breadth in the broadest of the usual fonts, as a part of their size.
  fileprivate var breadth: Double {
    if columns == 2 { return 1.3 }
    return switch self {
    case "i", "j", "l", "I", "'", ".", ",", ":", ";", "|", "!": 0.35
    case " ", "f", "t", "r", "(", ")", "-", "\"", "/", "[", "]": 0.45
    case "m", "w", "M", "W", "@", "%", "…", "→", "─": 1
    case "A"..."Z": 0.76
    default: 0.65
    }
  }
}
