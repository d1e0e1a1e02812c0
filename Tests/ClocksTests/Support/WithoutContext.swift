import ClocksSupport

@testable import Clocks

extension ThreadContext {
  /// Runs `body` as in a job that began before the hooks were installed.
  static func withoutContext(_ body: () -> Void) {
    let thread = ThreadState.ofThread
    let (context, job) = (thread.pointee.context, thread.pointee.unownedJob)
    (thread.pointee.context, thread.pointee.unownedJob) = (nil, nil)
    body()
    (thread.pointee.context, thread.pointee.unownedJob) = (context, job)
  }
}
