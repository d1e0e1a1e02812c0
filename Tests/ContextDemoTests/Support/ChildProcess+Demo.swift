import Foundation
import TestTraits

extension ChildProcess {
  /// The executable, which is in the folder of the test bundle.
  static var demoPath: String {
    let products = Bundle.main.executableURL?.deletingLastPathComponent()
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
    let folder = bundle.map { URL(fileURLWithPath: $0).deletingLastPathComponent() } ?? products
    return folder?.appendingPathComponent("ContextDemo").path ?? "ContextDemo"
  }

  /// Runs the executable.
  static func demo(
    _ arguments: [String], environment: [String: String] = [:]
  ) async throws -> ChildProcess {
    try await run(demoPath, arguments: arguments, environment: environment)
  }

  /// Runs a shell script whose `"$0" "$@"` is the executable with its arguments.
  static func demo(_ arguments: [String], script: String) async throws -> ChildProcess {
    try await run("/bin/sh", arguments: ["-c", script, demoPath] + arguments)
  }

  var output: [String] { Self.lines(of: standardOutput) }
  var error: [String] { Self.lines(of: standardError) }

  private static func lines(of text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      // The empty string after the last line break.
      .dropLast()
  }
}
