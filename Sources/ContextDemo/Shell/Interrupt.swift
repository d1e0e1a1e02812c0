import Dispatch
import Foundation

/// Does something when the user presses Ctrl-C.
///
/// The second time the process ends at once.
struct Interrupt {
  private let source: any DispatchSourceSignal

  /// Calls `whenReady` as soon as Ctrl-C is noticed, and `action` when it has been pressed.
  ///
  /// Before that Ctrl-C does what it always does, so that it is never lost.
  init(whenReady: @escaping @Sendable () -> Void, action: @escaping @Sendable () -> Void) {
    #if canImport(Darwin)
      // Otherwise the process would end before the source is asked. On Linux, Dispatch itself sees
      // to that.
      signal(SIGINT, SIG_IGN)
    #endif
    source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
    source.setRegistrationHandler(handler: whenReady)
    // The handler is called by one thread at a time.
    nonisolated(unsafe) var isPressed = false
    source.setEventHandler {
      if isPressed { _exit(ExitCode.interrupted.rawValue) }
      isPressed = true
      action()
    }
    source.resume()
  }
}
