extension Sequence<String> {
  /// What to add to a message about a word that is none of these: which of them was probably meant.
  func suggestion(for word: String) -> String {
    let limit = Swift.max(1, word.count / 3)
    let nearest = map { (word: $0, distance: $0.editDistance(to: word)) }
      .min { $0.distance < $1.distance }
    guard let nearest, nearest.distance <= limit else { return "" }
    return "; did you mean '\(nearest.word)'?"
  }
}

extension String {
  /// How many characters have to be added, removed, changed or swapped with their neighbour to make
  /// `other` of it.
  func editDistance(to other: String) -> Int {
    let (a, b) = (Array(self), Array(other))
    var rows = [Array(0...b.count)]
    for i in 1..<(a.count + 1) {
      var row = [i]
      for j in 1..<(b.count + 1) {
        var cost = Swift.min(
          rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
          cost = Swift.min(cost, rows[i - 2][j - 2] + 1)
        }
        row.append(cost)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }
}
