import Foundation

extension String {
  /// The report without its task dump.
  var withoutDump: String {
    components(separatedBy: "\n\nWhere the test's ")[0]
  }
}
