import ClocksSupport

/// Whether this copy of the package is the one that works in the process.
package enum OwnCopy {
  /// Whether the program contains a copy of the package, and this is another one, in a library.
  ///
  /// Then only the copy of the program installs its hooks. O(symbols of the program), in a library.
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
