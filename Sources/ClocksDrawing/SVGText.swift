struct SVGText {
  private(set) var text = ""

  mutating func add(_ element: String) { text += "  \(element)\n" }

  private mutating func add(_ start: String, _ name: String, title: String) {
    add(title.isEmpty ? start + "/>" : start + "><title>\(title.escaped)</title></\(name)>")
  }

  mutating func rect(
    _ kind: String, _ x: Double, _ y: Double, _ width: Double, _ height: Double, radius: Double = 0,
    title: String = ""
  ) {
    let corner = radius > 0 ? " rx=\"\(radius.svg)\"" : ""
    let start =
      "<rect class=\"\(kind)\" x=\"\(x.svg)\" y=\"\(y.svg)\" width=\"\(width.svg)\" "
      + "height=\"\(height.svg)\"\(corner)"
    add(start, "rect", title: title)
  }

  mutating func path(_ kind: String, _ path: String, title: String = "") {
    add("<path class=\"\(kind)\" d=\"\(path)\"", "path", title: title)
  }

  mutating func line(
    _ kind: String, _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, title: String = ""
  ) {
    path(kind, "M\(x1.svg) \(y1.svg)L\(x2.svg) \(y2.svg)", title: title)
  }

  mutating func diamond(
    _ kind: String, _ x: Double, _ y: Double, _ reach: Double, title: String = ""
  ) {
    let size = reach.svg
    path(
      kind, "M\((x - reach).svg) \(y.svg)l\(size) -\(size)l\(size) \(size)l-\(size) \(size)z",
      title: title)
  }

  /// Adds words. If they need more room than `room`, they are cut and have their full text as a title.
  mutating func words(
    _ kind: String, _ x: Double, _ y: Double, _ words: String, size: Double,
    room: Double = .infinity
  ) {
    let words = words.printable
    let cut = words.cut(toFit: room, size: size)
    let tip = cut == words ? "" : "<title>\(words.escaped)</title>"
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

extension SVGText {
  static let style = """
      <style>
        .ground { fill: #ffffff; }
        text { fill: #1f2328; }
        .title { font-weight: 600; }
        .faint, .time, .unnamed { fill: #59636e; }
        .length { fill: #59636e; }
        .said { fill: #6639ba; stroke: #ffffff; stroke-width: 3; paint-order: stroke; }
        path { fill: none; }
        .axis { stroke: #818b98; }
        .instant { fill: #818b98; fill-opacity: .1; }
        .life { stroke: #818b98; stroke-opacity: .6; }
        .sleep { fill: #d1d9e0; stroke: #818b98; stroke-width: .6; }
        .sleep.cancelled { fill: #ffebe9; stroke: #cf222e; }
        .sleep.pending { fill: none; stroke-dasharray: 3 2; }
        .cross { stroke: #cf222e; stroke-width: 1.6; stroke-linecap: round; }
        .external { stroke: #9a6700; stroke-width: 3; stroke-dasharray: 2 2; }
        path.created { stroke: #818b98; }
        path.resumed { stroke: #1a7f37; }
        path.cancelled { stroke: #cf222e; }
        .head { stroke-linecap: round; stroke-linejoin: round; }
        .mark { fill: #8250df; }
        .job { fill: #57606a; }
        .a0 { fill: #0969da; } .a1 { fill: #bf3989; } .a2 { fill: #1a7f37; } .a3 { fill: #bc4c00; }
        .a4 { fill: #0e7490; } .a5 { fill: #9a6700; } .a6 { fill: #8250df; } .a7 { fill: #a40e26; }
        @media (prefers-color-scheme: dark) {
          .ground { fill: #0d1117; }
          text { fill: #f0f6fc; }
          .faint, .time, .unnamed, .length { fill: #9198a1; }
          .said { fill: #b48bff; stroke: #0d1117; }
          .sleep { fill: #2a313c; stroke: #656c76; }
          .sleep.cancelled { fill: #3c1618; stroke: #f85149; }
          .cross { stroke: #f85149; }
          path.resumed { stroke: #3fb950; }
          path.cancelled { stroke: #f85149; }
          .mark { fill: #a371f7; }
          .job { fill: #9198a1; }
          .a0 { fill: #4493f8; } .a1 { fill: #db61a2; } .a2 { fill: #3fb950; } .a3 { fill: #db6d28; }
          .a4 { fill: #39c5cf; } .a5 { fill: #d29922; } .a6 { fill: #a371f7; } .a7 { fill: #ff7b72; }
        }
      </style>
    """
}

extension Character {
  /// The number of columns in a terminal: 2 for wide East Asian characters and emoji, otherwise 1.
  var columns: Int {
    guard let first = unicodeScalars.first else { return 0 }
    if unicodeScalars.contains("\u{FE0F}") || first.properties.isEmojiPresentation { return 2 }
    return switch first.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
      0xA000...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
      0xFFE0...0xFFE6, 0x20000...0x3FFFD:
      2
    default: 1
    }
  }

  /// The width in the widest of the usual fonts, as a fraction of the font's size.
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

extension String {
  package var columns: Int { reduce(0) { $0 + $1.columns } }

  /// Returns the text, or its beginning with an ellipsis if it has more columns than `width`.
  package func cut(to width: Int) -> String {
    if columns <= width { return self }
    return width > 0 ? beginning(Double(width)) { Double($0.columns) } : ""
  }

  func room(size: Double) -> Double { reduce(0) { $0 + $1.breadth } * size }

  /// Returns the text, or its beginning with an ellipsis if it needs more room than `room`.
  func cut(toFit room: Double, size: Double) -> String {
    self.room(size: size) <= room ? self : beginning(room) { $0.breadth * size }
  }

  /// Returns as many characters as fit before an ellipsis, and the ellipsis.
  private func beginning(_ room: Double, _ length: (Character) -> Double) -> String {
    var (beginning, rest) = ("", room - length("…"))
    for character in self {
      rest -= length(character)
      guard rest >= 0 else { break }
      beginning.append(character)
    }
    return beginning + "…"
  }

  /// The text with symbols for control characters, and without characters that change the direction of writing.
  package var printable: String {
    replacing { scalar in
      switch scalar.value {
      case 0..<0x20: String(Unicode.Scalar(0x2400 + scalar.value)!)
      case 0x7F: "\u{2421}"
      case 0x80..<0xA0, 0x2028, 0x2029: "\u{2424}"
      case 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: ""
      default: nil
      }
    }
  }

  /// The text in a form that is safe within an XML element or attribute.
  var escaped: String {
    printable.replacing { scalar in
      switch scalar {
      case "&": "&amp;"
      case "<": "&lt;"
      case ">": "&gt;"
      case "\"": "&quot;"
      case "\u{FFFE}", "\u{FFFF}": "\u{FFFD}"
      default: nil
      }
    }
  }

  package var quoted: String {
    let text = replacing { scalar in
      switch scalar {
      case "\"": return "\\\""
      case "\\": return "\\\\"
      case "\n": return "\\n"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        return "\\u" + String(0x10000 + scalar.value, radix: 16).dropFirst()
      default: return nil
      }
    }
    return "\"\(text)\""
  }

  /// Returns the text after replacing each scalar for which `replacement` returns a text.
  private func replacing(_ replacement: (Unicode.Scalar) -> String?) -> String {
    guard unicodeScalars.contains(where: { replacement($0) != nil }) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      if let replacement = replacement(scalar) {
        text += replacement
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}

extension Duration {
  /// Returns the time since an earlier instant, clamped to the range of `Duration`.
  func since(_ earlier: Duration) -> Duration {
    let (length, isOutOfRange) = attoseconds.subtractingReportingOverflow(earlier.attoseconds)
    return Duration(attoseconds: !isOutOfRange ? length : attoseconds < 0 ? .min : .max)
  }
}
