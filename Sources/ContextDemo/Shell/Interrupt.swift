import Dispatch
import Foundation

/// Does something when the user presses Ctrl-C.
///
/// The second time the process ends at once, as if nobody had cared.
struct Interrupt {
  private let source: any DispatchSourceSignal

  /// Calls `action` at the first Ctrl-C from now on.
  init(action: @escaping @Sendable () -> Void) {
    // Otherwise the process would end before the source is asked.
    signal(SIGINT, SIG_IGN)
    source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
    source.setEventHandler {
      signal(SIGINT, SIG_DFL)
      action()
    }
    source.resume()
  }
}
