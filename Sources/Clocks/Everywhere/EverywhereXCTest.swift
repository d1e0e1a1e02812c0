/// Runs each test of XCTest in virtual time.
package enum EverywhereXCTest {
  package static func begin() {}
}
