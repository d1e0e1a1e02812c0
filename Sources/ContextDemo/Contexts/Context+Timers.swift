import Clocks

extension Context {
  /// Runs `handler` in this context when `interval` has passed, unless the lifetime ends before.
  func singleTimer(
    interval: Duration, handler: @escaping @Sendable () -> Void
  ) -> Lifetime {
    timer(interval: interval, repeats: false, handler: handler)
  }

  /// Runs `handler` in this context each time that `interval` has passed, until the lifetime ends.
  func periodicTimer(
    interval: Duration, handler: @escaping @Sendable () -> Void
  ) -> Lifetime {
    timer(interval: interval, repeats: true, handler: handler)
  }

  /// Like ``singleTimer(interval:handler:)``, and hands `parameter` to the handler.
  func singleTimer<Parameter: Sendable>(
    parameter: Parameter, interval: Duration, handler: @escaping @Sendable (Parameter) -> Void
  ) -> Lifetime {
    singleTimer(interval: interval) { handler(parameter) }
  }

  /// Like ``periodicTimer(interval:handler:)``, and hands `parameter` to the handler.
  func periodicTimer<Parameter: Sendable>(
    parameter: Parameter, interval: Duration, handler: @escaping @Sendable (Parameter) -> Void
  ) -> Lifetime {
    periodicTimer(interval: interval) { handler(parameter) }
  }

  private func timer(
    interval: Duration, repeats: Bool, handler: @escaping @Sendable () -> Void
  ) -> Lifetime {
    let lifetime = Lifetime()
    lifetime.task = Task { [clock, weak lifetime] in
      for await _ in clock.timer(interval: interval) {
        // Asked in the context itself: a lifetime that ends there ends its timer for certain.
        self.invoke { [weak lifetime] in if lifetime != nil { handler() } }
        guard repeats else { return }
      }
    }
    return lifetime
  }
}
