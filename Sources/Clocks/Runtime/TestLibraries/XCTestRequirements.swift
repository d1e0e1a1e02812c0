#if os(Linux)
  import ClocksSupport

  // The protocol is `package`: otherwise the optimizer deletes the methods, which this module never calls.
  package protocol LookAlikeObservation: AnyObject {
    func testBundleWillStart(_ bundle: AnyObject)
    func testSuiteWillStart(_ suite: AnyObject)
    func testCaseWillStart(_ testCase: AnyObject)
    func testCase(
      _ testCase: AnyObject, didFailWithDescription description: String, inFile file: String?,
      atLine line: Int)
    func testCaseDidFinish(_ testCase: AnyObject)
    func testSuiteDidFinish(_ suite: AnyObject)
    func testBundleDidFinish(_ bundle: AnyObject)
  }

  /// Whether `XCTestObservation` has the requirements of `LookAlikeObservation`.
  ///
  /// XCTest calls an observer by the positions of these requirements, so the protocols must agree before an observer is
  /// added. Source: `TargetProtocolDescriptor` and `ProtocolRequirementFlags` of the Swift runtime, as of Swift 6.3.
  enum XCTestRequirements {
    /// The symbols of the default implementations, which contain the names and the types of the requirements.
    ///
    /// Changed by tests only.
    nonisolated(unsafe) static var names = [
      "$s6XCTest0A11ObservationPAAE19testBundleWillStartyy10Foundation0D0CF",
      "$s6XCTest0A11ObservationPAAE18testSuiteWillStartyyAA0aD0CF",
      "$s6XCTest0A11ObservationPAAE17testCaseWillStartyyAA0aD0CF",
      "$s6XCTest0A11ObservationPAAE8testCase_22didFailWithDescription6inFile6atLineyAA0aD0C_S2SSgSitF",
      "$s6XCTest0A11ObservationPAAE17testCaseDidFinishyyAA0aD0CF",
      "$s6XCTest0A11ObservationPAAE18testSuiteDidFinishyyAA0aD0CF",
      "$s6XCTest0A11ObservationPAAE19testBundleDidFinishyy10Foundation0D0CF",
    ]

    /// Whether number, kinds, names, types and order of the requirements are as expected. O(symbols of XCTest).
    static var areAsExpected: Bool {
      guard let descriptor = RuntimeSymbol.address(of: "$s6XCTest0A11ObservationMp"),
        // The only constraint is that an observer is an object.
        descriptor.load(fromByteOffset: 12, as: UInt32.self) == 1,
        descriptor.load(fromByteOffset: 16, as: UInt32.self) == names.count,
        names.allSatisfy({ RuntimeSymbol.address(of: $0) != nil })
      else { return false }
      return names.indices.allSatisfy {
        descriptor.load(fromByteOffset: 36 + 8 * $0, as: UInt32.self) == method
      } && isOrderAsExpected
    }

    /// The kind of a synchronous method of an instance.
    private static let method: UInt32 = 0x11

    /// Whether the functions of XCTest's own observer have the expected order.
    ///
    /// The file names these functions unless it was stripped. Then the order is not known, and only equal requirements
    /// could have changed places.
    private static var isOrderAsExpected: Bool {
      guard let image = LoadedImage.all(named: "libXCTest.so").first,
        let symbols = SymbolTable(path: image.path),
        let table = symbols.address(ofSymbol: "$s6XCTest13PrintObserverCAA0A11ObservationAAWP"),
        let functions = UnsafePointer<UInt>(bitPattern: image.base + table)
      else { return true }
      return names.enumerated().allSatisfy { number, name in
        let witness = name.replacing("PAAE", with: "A2aDP").replacing("D0C", with: "F0C") + "TW"
        let observer = witness.replacing("6XCTest0A11", with: "6XCTest13PrintObserverCAA0A11")
        // The first word of a witness table describes the conformance.
        return symbols.address(ofSymbol: observer).map { functions[number + 1] == image.base + $0 }
          ?? true
      }
    }
  }
#endif
