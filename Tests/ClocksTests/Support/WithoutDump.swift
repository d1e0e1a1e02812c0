import Foundation
import TestTraits

extension String {
  /// The report without its task dump, and without the time that has passed on a busy machine.
  var withoutDump: String {
    components(separatedBy: "\n\nWhere the test's ")[0].withoutMeasuredTime
  }
}
