/// A process that was started to run tests, as its arguments tell.
///
/// | argument | from |
/// |---|---|
/// | the executable is `….xctest` | `swift test` on Linux, where a test bundle is a program |
/// | the executable is `…-test-runner` | `swift test --build-system swiftbuild`, whose program links a library of tests |
/// | `--testing-library` | `swift test`, with each build system |
/// | a bundle `….xctest`, or a path in it | `swift test` and Xcode on Apple's platforms, where a tool loads the bundle |
package enum TestProcess {
  /// The end of the name of a program that only runs the tests of a library. The rest is the library's name.
  package static let runnerSuffix: StaticString = "-test-runner"

  /// Returns whether an argument shows that its process runs tests. Makes no string, because initializers call it.
  package static func isShown(by argument: UnsafePointer<CChar>, isExecutable: Bool) -> Bool {
    if isExecutable, ends(argument, with: runnerSuffix) { return true }
    #if canImport(Darwin)
      let isBundle =
        ends(argument, with: ".xctest") || strstr(argument, characters(".xctest/")) != nil
    #else
      let isBundle = isExecutable && ends(argument, with: ".xctest")
    #endif
    let option: StaticString = "--testing-library"
    return isBundle || strncmp(argument, characters(option), option.utf8CodeUnitCount) == 0
  }

  private static func ends(_ text: UnsafePointer<CChar>, with suffix: StaticString) -> Bool {
    let length = strlen(text)
    guard length >= suffix.utf8CodeUnitCount else { return false }
    let end = text + (length - suffix.utf8CodeUnitCount)
    return memcmp(end, suffix.utf8Start, suffix.utf8CodeUnitCount) == 0
  }

  private static func characters(_ text: StaticString) -> UnsafePointer<CChar> {
    UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
  }
}
