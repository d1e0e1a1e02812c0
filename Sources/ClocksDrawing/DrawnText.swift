// How much room texts take, and how they are escaped for each kind of output.

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
  /// The number of columns in a terminal.
  package var columns: Int { reduce(0) { $0 + $1.columns } }

  /// Returns the text, or its beginning with an ellipsis if it has more columns than `width`.
  package func cut(to width: Int) -> String {
    if columns <= width { return self }
    return width > 0 ? beginning(Double(width)) { Double($0.columns) } : ""
  }

  /// The most room that the text takes in the usual fonts.
  func room(size: Double) -> Double { reduce(0) { $0 + $1.breadth } * size }

  /// Returns the text, or its beginning with an ellipsis if it needs more room than `room`.
  func cut(toFit room: Double, size: Double) -> String {
    self.room(size: size) <= room ? self : beginning(room) { $0.breadth * size }
  }

  /// Returns as many characters as fit beside an ellipsis.
  private func beginning(_ room: Double, _ length: (Character) -> Double) -> String {
    var (beginning, rest) = ("", room - length("…"))
    for character in self {
      rest -= length(character)
      guard rest >= 0 else { break }
      beginning.append(character)
    }
    return beginning + "…"
  }

  /// The text with symbols for control characters, and without characters that turn its direction.
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

  /// The text as a JSON string.
  var quoted: String {
    let text = replacing { scalar in
      switch scalar {
      case "\"": return "\\\""
      case "\\": return "\\\\"
      case "\n": return "\\n"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        let digits = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: return nil
      }
    }
    return "\"\(text)\""
  }

  /// Returns the text with some scalars replaced; those for which `replacement` is `nil` stay.
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
  /// Returns the time since an earlier instant; the end of the range where that is out of range.
  func since(_ earlier: Duration) -> Duration {
    let (length, isOutOfRange) = attoseconds.subtractingReportingOverflow(earlier.attoseconds)
    return Duration(attoseconds: !isOutOfRange ? length : attoseconds < 0 ? .min : .max)
  }
}
