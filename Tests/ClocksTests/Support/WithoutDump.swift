import Foundation

extension String {
  /// A report without what it says about where the tasks are.
  var withoutDump: String {
    components(separatedBy: "\n\nWhere the test's ")[0]
  }
}
