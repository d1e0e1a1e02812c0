/// The elements of a picture as SVG text.
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
  /// The colours of light and dark pages.
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
