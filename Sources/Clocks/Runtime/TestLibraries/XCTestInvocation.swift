import ClocksSupport

/// Replaces the method of `XCTestCase` that runs one test method.
///
/// The method is replaced in the dispatch table of each subclass before the subclass's first test. Call tables are
/// rewritten for overrides that call it. Source: `XCTestCase.swift` of swift-corelibs-xctest, as of Swift 6.3.
enum XCTestInvocation {
  /// Runs a test method; `original` runs it without this package.
  typealias Replacement = @Sendable (_ testCase: AnyObject, _ original: () -> Void) -> Void

  private struct Method { var call: () -> Void }
  private struct Getter { var call: () -> String }

  private static let symbol: StaticString = "$s6XCTest0A4CaseC10invokeTestyyF"
  nonisolated(unsafe) private static let original = RuntimeSymbol.address(of: "\(symbol)")
  nonisolated(unsafe) private static let name = RuntimeSymbol.address(
    of: "$s6XCTest0A4CaseC4nameSSvg")
  nonisolated(unsafe) private static var replacement: Replacement?
  nonisolated(unsafe) private static var code: UnsafeMutableRawPointer?

  /// Passes each test method to `replacement`; returns whether that is possible.
  static func replace(by replacement: @escaping Replacement) -> Bool {
    #if os(Linux) && canImport(Glibc)
      guard original != nil, name != nil else { return false }
      // A closure that captured one object is called like a method: its context is the object.
      let object = Captured()
      let closure = Method { [object] in invoke(object) }
      let (code, context) = unsafeBitCast(
        closure, to: (UnsafeMutableRawPointer, UnsafeMutableRawPointer?).self)
      guard context == Unmanaged.passUnretained(object).toOpaque() else { return false }
      self.code = code
      self.replacement = replacement
      CallTables.redirect(
        [.init(name: symbol, replacement: UnsafeRawPointer(code), isFound: true)], in: .users)
      return withExtendedLifetime((closure, object)) { true }
    #else
      return false
    #endif
  }

  private class Captured {}

  @inline(never)
  private static func invoke(_ testCase: AnyObject) {
    replacement?(testCase) { SwiftFunction(original!, of: testCase).as(Method.self).call() }
  }

  /// Returns the name of a test, for example `ShopTests.CartTests/testTotal`.
  static func name(of testCase: AnyObject) -> String {
    let type = String(reflecting: type(of: testCase))
    let name = shortName(of: testCase) ?? ""
    return "\(type)/\(name.split(separator: ".").last ?? "")"
  }

  /// Returns the name of a test as XCTest writes it, for example `CartTests.testTotal`; `nil` if it is not known.
  static func shortName(of testCase: AnyObject) -> String? {
    name.map { SwiftFunction($0, of: testCase).as(Getter.self).call() }
  }

  /// Replaces the method in the class of a test case. O(size of the class).
  static func replace(inClassOf testCase: AnyObject) {
    #if os(Linux) && canImport(Glibc)
      guard let original, let code else { return }
      let metadata = unsafeBitCast(type(of: testCase), to: UnsafeMutableRawPointer.self)
      // The runtime's `ClassMetadata` has the size of the class object, and that of its part before this address.
      let size = metadata.load(fromByteOffset: 32, as: UInt32.self)
      let before = metadata.load(fromByteOffset: 36, as: UInt32.self)
      guard size > before, size < 1 << 16 else { return }
      for offset in stride(from: 56, to: Int(size - before), by: 8) {
        let word = metadata + offset
        guard word.load(as: UnsafeMutableRawPointer?.self) == original else { continue }
        let readOnly = LoadedImage.all.flatMap(\.readOnlyData)
        _ = ProtectedMemory.write(at: word, readOnly: readOnly) {
          $0.storeBytes(of: code, as: UnsafeMutableRawPointer.self)
        }
      }
    #endif
  }
}
