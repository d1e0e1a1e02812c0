import ClocksSupport

@testable import Clocks

extension ThreadContext {
  /// Runs `body` as in a job that began before the hooks were installed.
  static func withoutContext(_ body: () -> Void) {
    let key = prepare()
    let outer = threadValue(key)
    setThreadValue(key, nil)
    body()
    setThreadValue(key, outer)
  }
}
