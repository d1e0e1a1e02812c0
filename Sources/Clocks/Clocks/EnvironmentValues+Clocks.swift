#if canImport(SwiftUI)
  public import SwiftUI

  extension EnvironmentValues {
    /// The clock for views and for work that they start; a `ContinuousClock` by default.
    ///
    /// ```swift
    /// struct Banner: View {
    ///   @Environment(\.continuousClock) private var clock
    ///   @State private var isShown = true
    ///
    ///   var body: some View {
    ///     if isShown {
    ///       Text("Saved").task {
    ///         try? await clock.sleep(for: .seconds(3))
    ///         isShown = false
    ///       }
    ///     }
    ///   }
    /// }
    ///
    /// #Preview { Banner().environment(\.continuousClock, ImmediateClock()) }
    /// ```
    public var continuousClock: any Clock<Duration> {
      get { self[ContinuousClockKey.self] }
      set { self[ContinuousClockKey.self] = newValue }
    }

    /// The clock for time that stops while the device sleeps; a `SuspendingClock` by default.
    ///
    /// Used like ``continuousClock``.
    public var suspendingClock: any Clock<Duration> {
      get { self[SuspendingClockKey.self] }
      set { self[SuspendingClockKey.self] = newValue }
    }
  }

  private enum ContinuousClockKey: EnvironmentKey {
    static var defaultValue: any Clock<Duration> { ContinuousClock() }
  }

  private enum SuspendingClockKey: EnvironmentKey {
    static var defaultValue: any Clock<Duration> { SuspendingClock() }
  }
#endif
