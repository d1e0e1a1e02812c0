/// A failure on its way to a test library.
///
/// For a test kit that registers itself with ``registerFailureRecorder(_:)``; tests do not meet it.
@_spi(TestKit)
public struct RecordedFailure: Sendable {
  /// What went wrong, in a sentence for the test's author.
  public var message: String

  /// The file in the form of `#fileID`: `Module/File.swift`.
  public var fileID: StaticString

  /// The file in the form of `#filePath`.
  public var filePath: StaticString

  /// The line, counted from 1.
  public var line: UInt

  /// The column, counted from 1.
  public var column: UInt
}

/// Lets a module that imports a test library deliver the failures of this one.
///
/// A registered recorder comes before everything that this module can find out by itself. It
/// replaces the one registered before it; `nil` removes it.
///
/// - Parameter recorder: Delivers a failure and returns `true`, or returns `false` where it cannot,
///   for instance because no test of its library is running; the failure then goes the usual way.
///   It is called on whatever thread the failure happens on, and holds none of this module's locks.
/// - Complexity: O(1).
@_spi(TestKit)
public func registerFailureRecorder(_ recorder: (@Sendable (RecordedFailure) -> Bool)?) {
  RegisteredRecorder.shared.replace(with: recorder)
}

/// The recorder a test kit registered, if any.
final class RegisteredRecorder: @unchecked Sendable {
  static let shared = RegisteredRecorder()

  private let lock = Lock()

  /// Guarded by `lock`.
  private var recorder: (@Sendable (RecordedFailure) -> Bool)?

  func replace(with recorder: (@Sendable (RecordedFailure) -> Bool)?) {
    // The old recorder leaves the lock alive: what its release runs is a stranger's code.
    let old = lock.withLock {
      let old = self.recorder
      self.recorder = recorder
      return old
    }
    withExtendedLifetime(old) {}
  }

  /// Returns whether a recorder is registered and has delivered the failure.
  func deliver(_ message: String, at callSite: CallSite) -> Bool {
    guard let recorder = lock.withLock({ self.recorder }) else { return false }
    return recorder(
      RecordedFailure(
        message: message,
        fileID: callSite.fileID,
        filePath: callSite.filePath,
        line: callSite.line,
        column: callSite.column))
  }
}
