extension RandomAccessCollection {
  /// The number of leading elements for which `isBefore` holds. It must hold for no later element. O(log n).
  @inlinable package func partitioned(_ isBefore: (Element) -> Bool) -> Int {
    var (lower, upper) = (0, count)
    while lower < upper {
      let middle = (lower + upper) / 2
      if isBefore(self[index(startIndex, offsetBy: middle)]) {
        lower = middle + 1
      } else {
        upper = middle
      }
    }
    return lower
  }
}
