extension Collection where Element: CustomStringConvertible {
  /// A line for each element, indented; a long list is cut.
  var listed: String {
    let limit = 20
    var lines = prefix(limit).map { "  - \($0)" }
    if count > limit { lines.append("  - and \(count - limit) more") }
    return lines.joined(separator: "\n")
  }
}
