import ClocksSupport

/// The one way to look up functions and variables of this process by name.
enum RuntimeSymbol {
  /// The address of a function or a variable that an image of this process exports; `nil` if none does.
  static func address(of name: String) -> UnsafeMutableRawPointer? {
    #if canImport(Darwin)
      // `RTLD_DEFAULT`, which Swift does not import.
      return dlsym(UnsafeMutableRawPointer(bitPattern: -2), name)
    #elseif canImport(Glibc) || canImport(Musl) || canImport(Android)
      return dlsym(nil, name)
    #else
      return nil
    #endif
  }

  /// A function of the C calling convention; `nil` if no image exports it.
  ///
  /// - Parameter type: The exact type of the function, `@convention(c)`.
  static func function<Function>(_ name: String, as type: Function.Type) -> Function? {
    address(of: name).map { unsafeBitCast($0, to: type) }
  }
}

#if os(Linux) && canImport(Glibc)
  /// A function of another image, and the function that replaces it in call tables.
  ///
  /// `Function` is the exact type of both: `@convention(c)`, or `@convention(thin)` for a Swift function
  /// without a context. A replacement may call `original`.
  struct Interposed<Function>: @unchecked Sendable {
    /// The replacement, for `CallTables.redirect`.
    let entry: CallTables.Entry
    /// The replaced function; `nil` if no image of this process exports it.
    let found: UnsafeMutableRawPointer?

    init(_ name: StaticString, _ replacement: Function) {
      found = RuntimeSymbol.address(of: "\(name)")
      entry = CallTables.Entry(
        name: name, replacement: unsafeBitCast(replacement, to: UnsafeRawPointer.self),
        isFound: found != nil)
    }

    /// The replaced function. Requires that it was found, as it was if `CallTables.redirect` succeeded.
    ///
    /// Why transparent and computed: a debug build would otherwise call a generic function, and the
    /// compiler (6.3) crashes on stored properties of a generic, thin type.
    @_transparent var original: Function { unsafeBitCast(found, to: Function.self) }
  }
#endif
