#if canImport(SwiftUI)
  public import SwiftUI

  extension EnvironmentValues {
    /// The clock of views that sleep, and of what they start; a `ContinuousClock` unless it is set.
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

    /// The same as ``continuousClock``, for time that stands still while the device sleeps; a
    /// `SuspendingClock` unless it is set.
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
