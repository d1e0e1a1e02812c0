/// A few values one behind the other, in memory of their own.
///
/// In place of an Array where there is one for each decision of each run of a test: a debug build, in
/// which tests are run, calls a generic function for whatever is done with an Array. What is done often
/// is transparent here, and so is no call at all.
struct Row<Element: BitwiseCopyable>: ~Copyable {
  private var places: UnsafeMutablePointer<Element>?
  private var capacity = 0
  private var used = 0

  init() {}

  init(_ elements: [Element]) {
    for element in elements { append(element) }
  }

  deinit { places?.deallocate() }

  @_transparent
  var count: Int { used }

  /// O(1).
  subscript(index: Int) -> Element {
    @_transparent get {
      guard index >= 0, index < used, let places else { preconditionFailure("Clocks: no value.") }
      return places[index]
    }
  }

  /// Amortized O(1).
  @_transparent
  mutating func append(_ element: Element) {
    if used == capacity { grow() }
    guard let places else { return }
    places[used] = element
    used += 1
  }

  /// All values. O(n).
  var all: [Element] {
    var all: [Element] = []
    for index in 0..<count { all.append(self[index]) }
    return all
  }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<Element>.allocate(capacity: max(8, capacity * 2))
    for index in 0..<used { larger[index] = self[index] }
    places?.deallocate()
    places = larger
    capacity = max(8, capacity * 2)
  }
}
