import Foundation
import Testing

extension Trait where Self == ConditionTrait {
  /// Skips a test, or a suite, except in a child process in which a parent test has set the variable.
  package static func onlyInChild(_ variable: String) -> Self {
    .enabled(
      if: ProcessInfo.processInfo.environment[variable] != nil,
      "It runs only in a child process of another test.")
  }
}
