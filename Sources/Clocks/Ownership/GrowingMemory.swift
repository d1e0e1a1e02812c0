import ClocksSupport

extension UnsafeMutablePointer {
  /// Returns `memory` with room for `capacity` elements. The elements keep their values. To be freed with `free`.
  ///
  /// The C library moves a large block without copying it. A new block for each doubling would leave the old ones
  /// in the process: 75 bytes for each of 100,000 sleeps.
  @_transparent
  static func grown(_ memory: Self?, toCapacity capacity: Int) -> Self {
    guard let larger = realloc(memory, capacity * MemoryLayout<Pointee>.stride) else {
      fatalError("Clocks: out of memory.")
    }
    return larger.bindMemory(to: Pointee.self, capacity: capacity)
  }
}
