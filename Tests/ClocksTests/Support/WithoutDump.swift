import Foundation
import TestTraits

extension String {
  /// The report without its task dump, and without the time that has passed on a busy machine.
  var withoutDump: String {
    components(separatedBy: "\n\nWhere the test's ")[0].withoutMeasuredTime
  }

  /// The text without the numbers of tasks and of lines.
  var withoutNumbers: String {
    replacing(/#\d\d+/, with: "#").replacing(/\.swift:\d+/, with: ".swift")
  }
}
