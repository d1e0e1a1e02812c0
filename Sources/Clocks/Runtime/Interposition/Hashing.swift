// The order of a Set or a Dictionary follows from two numbers which the process draws when it starts, and from
// where the storage lies. A test whose order of jobs is to be found again, also by another process, needs
// both to be the same each time.
//
// Source: `_swift_stdlib_Hashing_parameters` and `_HashTable.hashSeed` of the Swift standard library.

#if os(Linux) && canImport(Glibc)
  import Glibc
#endif

/// The seeds with which the standard library hashes.
package enum Hashing {
  #if os(Linux) && canImport(Glibc)
    private struct Parameters {
      var seed0: UInt64
      var seed1: UInt64
      /// Whether a table's seed follows from its size, and not from its address.
      var isDeterministic: Bool
    }

    nonisolated(unsafe) private static let parameters: UnsafeMutablePointer<Parameters>? =
      dlsym(nil, "_swift_stdlib_Hashing_parameters")?.assumingMemoryBound(to: Parameters.self)
  #endif

  nonisolated(unsafe) private static var fixed = false

  /// Has the process hash with the same two numbers each time. To be called at load, before there is a table.
  ///
  /// In itself that changes no order: where the storage of a table lies still decides. The numbers are left
  /// alone if `CLOCKS_HASHING` is `random`.
  package static func fixSeeds() {
    #if os(Linux) && canImport(Glibc)
      guard !fixed, Environment.hashing != "random", let parameters else { return }
      let drawn = parameters.pointee
      // Tried before it is believed: other numbers give another hash, and the same ones the same.
      func hash(_ seed: UInt64) -> Int {
        parameters.pointee.seed0 = seed
        parameters.pointee.seed1 = ~seed
        var hasher = Hasher()
        hasher.combine(1)
        return hasher.finalize()
      }
      let hashes = [hash(1), hash(2), hash(1)]
      guard hashes[0] == hashes[2], hashes[0] != hashes[1] else {
        parameters.pointee = drawn
        return
      }
      fixed = true
    #endif
  }

  /// From now on has the order of each new table follow from its content alone. Thread-safe.
  static func ignoreAddresses() { _ = areIgnored }

  /// Written once: tests that run side by side all ask for it.
  private static let areIgnored: Void = {
    #if os(Linux) && canImport(Glibc)
      if fixed { parameters?.pointee.isDeterministic = true }
    #endif
  }()
}
