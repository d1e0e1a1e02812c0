/// A line of text that is written column by column, in any order.
struct TextLine {
  /// What stands in each column; nothing behind a wide character, which takes two.
  private var columns: [String] = []

  /// Writes `text` from a column on, over what stands there.
  mutating func write(_ text: String, at start: Int) {
    var column = start
    for character in text {
      let width = character.columns
      guard width > 0 else { continue }
      while columns.count < column + width { columns.append(" ") }
      columns[column] = String(character)
      if width == 2 { columns[column + 1] = "" }
      column += width
    }
  }

  /// The line without spaces at its end.
  var text: String {
    let last = columns.lastIndex { $0 != " " }
    return last.map { columns[...$0].joined() } ?? ""
  }
}

extension Character {
  /// The number of columns that a terminal gives it: 2 for the wide ones of East Asia and for pictures.
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
}

extension String {
  /// The number of columns that a terminal gives it.
  package var columns: Int { reduce(0) { $0 + $1.columns } }

  /// The text, or its beginning with an ellipsis if it has more columns than `width`.
  package func cut(to width: Int) -> String {
    guard columns > width else { return self }
    guard width > 0 else { return "" }
    var (beginning, rest) = ("", width - 1)
    for character in self {
      rest -= character.columns
      guard rest >= 0 else { break }
      beginning.append(character)
    }
    return beginning + "…"
  }

  /// The text with pictures in place of control characters, and without what would turn its direction.
  package var printable: String {
    guard unicodeScalars.contains(where: { $0.replacement != nil }) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      text.unicodeScalars.append(contentsOf: scalar.replacement ?? [scalar])
    }
    return text
  }
}

extension Unicode.Scalar {
  /// What is to be printed in place of the scalar; `nil` if that is itself.
  fileprivate var replacement: [Unicode.Scalar]? {
    switch value {
    case 0..<0x20: [Unicode.Scalar(0x2400 + value)!]
    case 0x7F: ["\u{2421}"]
    case 0x80..<0xA0, 0x2028, 0x2029: ["\u{2424}"]
    case 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: []
    default: nil
    }
  }
}
