import ClocksSupport

/// Whether this copy of the package is the one that installs its hooks.
package enum OwnCopy {
  /// Whether this copy is in a library while the program contains another copy, which installs the hooks.
  ///
  /// In a library O(symbols of the program), else O(1).
  package static let standsBack: Bool = {
    #if os(Linux) && canImport(Glibc) && _pointerBitWidth(_64)
      guard let program = LoadedImage.all.first else { return false }
      let here = UInt(bitPattern: unsafeBitCast(marker, to: UnsafeRawPointer?.self))
      if program.code.contains(where: { $0.contains(here) }) { return false }
      return SymbolTable(path: "/proc/self/exe")?.contains(name) ?? false
    #else
      return false
    #endif
  }()

  /// The symbol of the metadata accessor of `RuntimeHooks`, which no other package has.
  private static let name = "$s6Clocks12RuntimeHooksOMa"
  private static let marker: @convention(c) () -> Void = {}
}
