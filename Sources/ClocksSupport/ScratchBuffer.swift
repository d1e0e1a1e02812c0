/// A small growing list of plain values.
///
/// In a debug build, appending to an Array takes three times as long as appending to this list.
///
/// Public, because the compiler does not inline package functions across modules.
public struct ScratchBuffer<Element: BitwiseCopyable>: ~Copyable {
  @usableFromInline var places: UnsafeMutablePointer<Element>?
  @usableFromInline var capacity = 0
  public var count: Int { @_transparent get { counted } }
  @usableFromInline var counted = 0

  public init() {}

  public init(_ elements: [Element]) {
    for element in elements { append(element) }
  }

  deinit { places?.deallocate() }

  public subscript(index: Int) -> Element {
    // Transparent, so that a debug build calls no function for it.
    @_transparent get {
      precondition(index >= 0 && index < counted)
      return places![index]
    }
    @_transparent set {
      precondition(index >= 0 && index < counted)
      places![index] = newValue
    }
  }

  @_transparent
  public mutating func append(_ element: Element) {
    if counted == capacity { grow() }
    places![counted] = element
    counted += 1
  }

  /// Removes all elements, and keeps the memory.
  @_transparent
  public mutating func removeAll() { counted = 0 }

  /// Removes an element; the others keep their order. O(n).
  @_transparent @discardableResult
  public mutating func remove(at index: Int) -> Element {
    let element = self[index]
    var next = index + 1
    while next < counted {
      places![next - 1] = places![next]
      next += 1
    }
    counted -= 1
    return element
  }

  /// Removes the elements after the first `count`, and keeps the memory.
  @_transparent
  public mutating func keepFirst(_ count: Int) {
    precondition(count >= 0 && count <= counted)
    counted = count
  }

  public mutating func removeAll(where isRemoved: (Element) -> Bool) {
    var kept = 0
    for index in 0..<counted where !isRemoved(self[index]) {
      self[kept] = self[index]
      kept += 1
    }
    counted = kept
  }

  public var all: [Element] {
    var all: [Element] = []
    for index in 0..<count { all.append(self[index]) }
    return all
  }

  @usableFromInline mutating func grow() {
    let newCapacity = capacity == 0 ? 16 : capacity * 2
    let larger = UnsafeMutablePointer<Element>.allocate(capacity: newCapacity)
    for index in 0..<count { larger[index] = self[index] }
    places?.deallocate()
    places = larger
    capacity = newCapacity
  }
}
