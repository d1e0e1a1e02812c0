// A test bundle that does not contain this package, and loads a library that does. `PlainBundleTests` compiles it.

import Foundation
import XCTest

final class LateTests: XCTestCase {
  static let all = [("testALibraryIsLoadedLate", testALibraryIsLoadedLate)]

  /// The hash seeds must stay as they are, because dictionaries exist.
  func testALibraryIsLoadedLate() throws {
    let numbers = Dictionary(uniqueKeysWithValues: (0..<1000).map { ("\($0)", $0) })
    let library = try XCTUnwrap(ProcessInfo.processInfo.environment["LATE_LIBRARY"])
    XCTAssertNotNil(dlopen(library, RTLD_NOW), String(cString: dlerror()))
    for number in 0..<1000 { XCTAssertEqual(numbers["\(number)"], number) }
  }
}

XCTMain([testCase(LateTests.all)])
