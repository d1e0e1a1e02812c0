import ClocksSupport

#if os(Linux) && canImport(Glibc)
  import Glibc
#endif

/// Another copy of this module in the process, as when a dynamic library and the test bundle both link it.
///
/// Each copy has its own hooks, schedulers and clocks, but the runtime calls the hooks of only one. If both copies
/// install them at load, the test bundle's copy wins. Otherwise the first copy wins.
/// A copy recognizes another by the type of the default executor, so neither needs the other's symbols.
enum OtherCopy {
  private static let executors = ["SPIDefaultExecutor", "PatchedDefaultExecutor"]

  /// The image of the copy whose executor the runtime uses; `nil` if no other copy has the hooks.
  ///
  /// On other systems than Linux, copies are not recognized.
  private static var image: LoadedImage? {
    #if os(Linux)
      let type: AnyObject.Type = Swift.type(of: globalConcurrentExecutor as AnyObject)
      guard executors.contains(_typeName(type, qualified: false)),
        let image = LoadedImage.containing(type), image.base != LoadedImage.ofThisModule?.base
      else { return nil }
      return image
    #else
      return nil
    #endif
  }

  /// A description of the image that contains the other copy; `nil` if no other copy has the hooks.
  static var place: String? { image?.place }

  /// Returns whether another copy has the hooks, and keeps them. Warns if this copy takes them.
  static func keepsHooks(_ isAtLoad: Bool) -> Bool {
    guard let image else { return false }
    guard isAtLoad, let own = LoadedImage.ofThisModule, own.base == LoadedImage.testBundle?.base
    else { return true }
    let text = text(have: own.place, other: image.place)
    Terminal.writeLine("warning: \(text)")
    return false
  }

  static func failure(_ place: String) -> String {
    text(have: place, other: LoadedImage.ofThisModule?.place ?? "another image")
  }

  private static func text(have owner: String, other: String) -> String {
    """
    This process contains two copies of Clocks, one in \(owner) and one in \(other). The one in \(owner) sees \
    the tasks of tests. Test clocks and scopes of the one in \(other) see none, so tests that use them fail. \
    Link Clocks only once: build the library without `type: .dynamic`, or remove Clocks from its dependencies, \
    or from those of the tests.
    """
  }
}

/// Whether this copy of the package is the one that installs its hooks.
package enum OwnCopy {
  /// Whether the test bundle contains another copy, which installs the hooks.
  ///
  /// O(symbols of the test bundle) for a copy in another image, else O(1).
  package static let standsBack: Bool = {
    #if os(Linux) && canImport(Glibc) && _pointerBitWidth(_64)
      guard let bundle = LoadedImage.testBundle else { return false }
      let here = UInt(bitPattern: unsafeBitCast(marker, to: UnsafeRawPointer?.self))
      if bundle.code.contains(where: { $0.contains(here) }) { return false }
      let file = bundle.path.isEmpty ? "/proc/self/exe" : bundle.path
      return SymbolTable(path: file)?.address(ofSymbol: name) != nil
    #else
      return false
    #endif
  }()

  /// Whether this copy was loaded while the process ran, as by `dlopen`.
  ///
  /// Then the process may have other threads, and dictionaries that need its hash seeds. So this copy does not prepare
  /// the process for tests.
  ///
  /// A library that is loaded with the program is in the program's scope before its initializers run. One that `dlopen`
  /// loads comes into that scope later, or never.
  package static let isLoadedLate: Bool = {
    #if os(Linux) && canImport(Glibc) && _pointerBitWidth(_64)
      // The program itself has no path.
      guard let image = LoadedImage.ofThisModule, !image.path.isEmpty,
        let name = _mangledTypeName(SchedulerCapability.self),
        let library = dlopen(image.path, RTLD_LAZY | RTLD_NOLOAD),
        let type = dlsym(library, "$s\(name)N"), let program = dlopen(nil, RTLD_LAZY)
      else { return false }
      return dlsym(program, "$s\(name)N") != type
    #else
      return false
    #endif
  }()

  /// Whether this copy prepares a test process at load.
  package static var preparesProcess: Bool { !standsBack && !isLoadedLate }

  /// The symbol of the metadata accessor of `RuntimeHooks`, which no other package has.
  private static let name = "$s6Clocks12RuntimeHooksOMa"
  private static let marker: @convention(c) () -> Void = {}
}
