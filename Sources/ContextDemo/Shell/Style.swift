/// How text looks on a terminal; plain everywhere else.
struct Style: Hashable, Sendable {
  /// A way to make text stand out.
  enum Look {
    case bold
    case dim
    /// A colour of its own for each name.
    case name(String)
  }

  let isColoured: Bool

  static let plain = Style(isColoured: false)

  init(isColoured: Bool) {
    self.isColoured = isColoured
  }

  /// The style for a terminal that does not object, by `NO_COLOR` or by being a dumb one.
  init(isTerminal: Bool, environment: [String: String]) {
    isColoured = isTerminal && environment["NO_COLOR"] == nil && environment["TERM"] != "dumb"
  }

  /// `text` with the control sequences that make it look so.
  func callAsFunction(_ look: Look, _ text: String) -> String {
    guard isColoured else { return text }
    let code =
      switch look {
      case .bold: 1
      case .dim: 2
      // Six colours, without black and white; the same name always gets the same.
      case .name(let name): 31 + name.unicodeScalars.reduce(0) { $0 + Int($1.value) } % 6
      }
    return "\u{1B}[\(code)m\(text)\u{1B}[0m"
  }
}
