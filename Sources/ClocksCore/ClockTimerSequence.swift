import ClocksSupport

extension Clock {
  /// Returns an asynchronous sequence of ticks, one every `interval`.
  ///
  /// ```swift
  /// actor TeaTimer<C: Clock<Duration>> {
  ///   private let clock: C
  ///   private(set) var display = ""
  ///
  ///   init(clock: C) { self.clock = clock }
  ///
  ///   func brew(minutes: Int) async {
  ///     var left = minutes
  ///     for await _ in clock.timer(interval: .seconds(60)) {
  ///       left -= 1
  ///       display = left == 0 ? "Tea!" : "\(left) min"
  ///       if left == 0 { return }
  ///     }
  ///   }
  /// }
  ///
  /// @Test func showsTheMinutesThatAreLeft() async {
  ///   let clock = TestClock()
  ///   let timer = TeaTimer(clock: clock)
  ///   Task { await timer.brew(minutes: 3) }
  ///   await clock.advance(by: .seconds(60))
  ///   #expect(await timer.display == "2 min")
  ///   await clock.advance(by: .seconds(119))
  ///   #expect(await timer.display == "1 min")
  ///   await clock.advance(by: .seconds(1))
  ///   #expect(await timer.display == "Tea!")
  /// }
  /// ```
  ///
  /// ## Guarantees
  ///
  /// The ticks are the instants start + k x interval for k = 1, 2, 3 and so on. The start is the clock's time
  /// at the first call of `next()`, separately for each iterator. Each tick is computed from the tick before,
  /// not from the time at which the task woke, so the timer does not drift.
  ///
  /// `next()` returns the latest tick that is due, or waits for the next one. Missed ticks are merged into
  /// the latest one.
  ///
  /// ## Cancellation and end
  ///
  /// The sequence ends without an error when the task is cancelled, immediately if it waits for a tick. It
  /// also ends when the clock's sleep throws another error, and when the latest tick is the clock's last
  /// instant. On a clock of this package, a tick beyond that instant comes at that instant.
  ///
  /// ## Invalid intervals
  ///
  /// An interval that is not positive makes the running test fail at the line of this call, and the sequence
  /// is empty. Outside a test, the failure is a line on standard error. An interval or a tolerance of more than
  /// 146 thousand million years is shortened to that.
  ///
  /// ## Cost
  ///
  /// At most one sleep of the clock for each tick, and O(log n) additions after n missed ticks.
  ///
  /// The timers of Dispatch and of Go also merge missed ticks and do not drift. The type of the sequence
  /// follows swift-async-algorithms.
  ///
  /// - Parameters:
  ///   - interval: The time from one tick to the next.
  ///   - tolerance: How much later a tick may come, if the clock supports that. Delays do not accumulate.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public func timer(
    interval: Duration, tolerance: Duration? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) -> ClockTimerSequence<Self> {
    // This form of the condition also rejects an interval that is not a number.
    guard interval > .zero else {
      UsageFailure.report(
        "A timer's interval must be positive, but is \(interval).",
        at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
      return ClockTimerSequence(clock: self, interval: nil, tolerance: tolerance)
    }
    return ClockTimerSequence(
      clock: self, interval: boundedByLongestSleep(interval),
      tolerance: tolerance.map(boundedByLongestSleep))
  }
}

extension Clock where Duration: Hashable {
  /// Returns an asynchronous sequence of ticks of an `any Clock<Duration>`, one every `interval`.
  ///
  /// ```swift
  /// @MainActor final class Stopwatch {
  ///   private let clock: any Clock<Duration>
  ///   private(set) var seconds = 0
  ///
  ///   init(clock: any Clock<Duration> = ContinuousClock()) { self.clock = clock }
  ///
  ///   func run() async {
  ///     for await _ in clock.timer(interval: .seconds(1)) { seconds += 1 }
  ///   }
  /// }
  /// ```
  ///
  /// The instants of an existential clock have no type, so the ticks are instants of an ``AnyClock``.
  /// The sequence has the guarantees, the behavior on cancellation, the errors and the cost of the other `timer`, which
  /// the compiler prefers wherever the clock's type is known.
  @_disfavoredOverload
  public func timer(
    interval: Duration, tolerance: Duration? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) -> ClockTimerSequence<AnyClock<Duration>> {
    AnyClock(self).timer(
      interval: interval, tolerance: tolerance,
      fileID: fileID, filePath: filePath, line: line, column: column)
  }
}

/// The ticks of a clock, as `timer(interval:)` returns them.
public struct ClockTimerSequence<C: Clock>: AsyncSequence, Sendable {
  /// The instant of a tick.
  public typealias Element = C.Instant
  /// A timer does not throw.
  public typealias Failure = Never

  let clock: C
  /// If `nil`, the sequence is empty.
  let interval: C.Duration?
  let tolerance: C.Duration?

  /// Returns an iterator whose ticks count from its first call of `next()`. O(1).
  public func makeAsyncIterator() -> Iterator { Iterator(timer: self) }

  /// An iterator over the ticks.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let timer: ClockTimerSequence
    fileprivate var hasEnded = false
    /// The last tick, or the start; `nil` before the first call of `next()`.
    fileprivate var latest: C.Instant?

    /// Waits for the next tick and returns its instant; `nil` once the sequence has ended.
    ///
    /// The sequence ends, permanently, if the current task is cancelled before or during the wait.
    public mutating func next() async -> C.Instant? { await next(isolation: nil) }

    /// Waits for the next tick and returns its instant; `nil` once the sequence has ended.
    ///
    /// Like the other `next`, and continues on `actor`.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> C.Instant? {
      guard !hasEnded, !Task.isCancelled, let interval = timer.interval else { return end() }
      let clock = timer.clock
      let latest = self.latest ?? clock.now
      let next = latest.advanced(by: interval)
      // Near the end of its range a clock may have no later instant.
      guard latest < next else { return end() }

      if clock.now < next {
        do {
          try await clock.sleep(until: next, tolerance: timer.tolerance)
        } catch {
          return end()
        }
      }
      let missed = greatestMultiple(of: interval, notAbove: next.duration(to: clock.now))
      let tick = next.advanced(by: missed)
      self.latest = tick
      return tick
    }

    private mutating func end() -> C.Instant? {
      hasEnded = true
      return nil
    }
  }
}

/// Returns the greatest multiple of a positive unit, zero included, that is at most the limit.
///
/// Division of durations yields a `Double`, which cannot represent every nanosecond of a day, and the factor
/// may exceed `Int`. So this function divides by doubling: exactly, and with no value above the limit.
///
/// - Complexity: O(log n), where n is the factor.
package func greatestMultiple<D: DurationProtocol>(of unit: D, notAbove limit: D) -> D {
  guard unit <= limit else { return .zero }
  var doublings = [unit]
  var double = unit
  while double <= limit - double {
    let next = double + double
    // A floating-point duration may be infinite, and infinity does not grow.
    guard double < next else { break }
    double = next
    doublings.append(double)
  }
  var multiple = D.zero
  for doubling in doublings.reversed() where doubling <= limit - multiple { multiple += doubling }
  return multiple
}
