import Clocks

extension Context {
  /// Runs `handler` once in this context after `interval`, if the returned lifetime still exists.
  func singleTimer(
    interval: Duration, handler: @escaping @Sendable () -> Void
  ) -> Lifetime {
    timer(interval: interval, repeats: false, handler: handler)
  }

  /// Runs `handler` in this context every `interval` until the returned lifetime is released.
  func periodicTimer(
    interval: Duration, handler: @escaping @Sendable () -> Void
  ) -> Lifetime {
    timer(interval: interval, repeats: true, handler: handler)
  }

  /// Starts a single timer that passes `parameter` to the handler.
  func singleTimer<Parameter: Sendable>(
    parameter: Parameter, interval: Duration, handler: @escaping @Sendable (Parameter) -> Void
  ) -> Lifetime {
    singleTimer(interval: interval) { handler(parameter) }
  }

  private func timer(
    interval: Duration, repeats: Bool, handler: @escaping @Sendable () -> Void
  ) -> Lifetime {
    let lifetime = Lifetime()
    lifetime.task = Task { [clock, weak lifetime] in
      for await _ in clock.timer(interval: interval) {
        // The check runs in the context, so if the lifetime is released in the context, the handler
        // never runs after that.
        self.invoke { [weak lifetime] in if lifetime != nil { handler() } }
        guard repeats else { return }
      }
    }
    return lifetime
  }
}

/// Owns a timer: releasing the lifetime cancels the timer.
final class Lifetime: @unchecked Sendable {
  /// The task of the timer. Set once, before the lifetime is shared.
  fileprivate(set) var task: Task<Void, Never>?

  deinit { task?.cancel() }
}
