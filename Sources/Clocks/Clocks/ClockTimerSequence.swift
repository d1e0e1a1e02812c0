extension Clock {
  /// The clock's ticks, one each `interval`, as an asynchronous sequence.
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
  /// ## What is guaranteed
  ///
  /// The ticks are the instants start + k x interval for k = 1, 2, 3 and so on, where the start is
  /// the clock's time at the first call of an iterator's `next()`: a timer that nobody waits for
  /// does not run, and each iterator has a start of its own. A tick's instant is computed from the
  /// one before and never from the time at which a task happened to be woken, so the timer does not
  /// drift.
  ///
  /// `next()` returns the latest tick that is due, or waits for the first one that will be. Ticks
  /// that nobody was there to receive are not made up for: they are one with the latest of them.
  ///
  /// ## Cancellation, and the end
  ///
  /// The sequence ends, and throws nothing, when the task is cancelled, at once if it is waiting
  /// for a tick; when the clock's sleep throws anything else; and when the next tick is beyond the
  /// last instant that the clock has. Until then it goes on.
  ///
  /// ## An interval that is not positive
  ///
  /// It makes the running test fail, at the line of this call, and the sequence is empty. Where no
  /// test is running the failure is a line on standard error. An interval of more than some 146
  /// thousand million years is taken as that long.
  ///
  /// ## Cost
  ///
  /// A sleep of the clock for each tick, and O(log n) additions if n ticks were missed: a timer of
  /// nanoseconds may find that its task was away for a day.
  ///
  /// That missed ticks become one, and that the timer does not drift, is how the timers of Dispatch
  /// and of Go behave; swift-async-algorithms gave such a sequence its shape.
  ///
  /// - Parameters:
  ///   - interval: The time from one tick to the next.
  ///   - tolerance: How much later a tick may come, if the clock honours that. It does not add up.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public func timer(
    interval: Duration,
    tolerance: Duration? = nil,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> ClockTimerSequence<Self> {
    // Asked in this way, the question also finds an interval that compares with nothing.
    guard interval > .zero else {
      recordFailure(
        ClockFailure.intervalNotPositive("\(interval)"),
        fileID: fileID, filePath: filePath, line: line, column: column)
      return ClockTimerSequence(clock: self, interval: nil, tolerance: tolerance)
    }
    return ClockTimerSequence(
      clock: self, interval: boundedByLongestSleep(interval), tolerance: tolerance)
  }
}

extension Clock where Duration: Hashable {
  /// The ticks of an `any Clock<Duration>`, one each `interval`, as an asynchronous sequence.
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
  /// A clock of which no more is known has no name for its instants, so the ticks are instants of an
  /// ``AnyClock``. Guarantees, cancellation, errors and cost are those of the other `timer`, which
  /// is taken wherever the clock's type is known.
  ///
  /// - Parameters:
  ///   - interval: The time from one tick to the next.
  ///   - tolerance: How much later a tick may come, if the clock honours that. It does not add up.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  @_disfavoredOverload
  public func timer(
    interval: Duration,
    tolerance: Duration? = nil,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> ClockTimerSequence<AnyClock<Duration>> {
    AnyClock(self).timer(
      interval: interval, tolerance: tolerance,
      fileID: fileID, filePath: filePath, line: line, column: column)
  }
}

/// The ticks of a clock, which `timer(interval:)` makes and describes.
public struct ClockTimerSequence<C: Clock>: AsyncSequence, Sendable {
  /// The instant of a tick.
  public typealias Element = C.Instant
  /// A timer does not fail.
  public typealias Failure = Never

  let clock: C
  /// `nil` where there are no ticks.
  let interval: C.Duration?
  let tolerance: C.Duration?

  /// Makes an iterator whose time starts with its first tick being asked for. O(1).
  public func makeAsyncIterator() -> Iterator {
    Iterator(timer: self, hasEnded: interval == nil)
  }

  /// The ticks, one after the other.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let timer: ClockTimerSequence
    /// Once true, it stays true.
    fileprivate var hasEnded: Bool
    /// The tick returned last, or the start; `nil` before the first call of `next()`.
    private var latest: C.Instant?

    fileprivate init(timer: ClockTimerSequence, hasEnded: Bool) {
      self.timer = timer
      self.hasEnded = hasEnded
    }

    /// Waits for the next tick and returns its instant; `nil` once the sequence has ended.
    public mutating func next() async -> C.Instant? {
      await next(isolation: nil)
    }

    /// Waits for the next tick and returns its instant; `nil` once the sequence has ended.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async -> C.Instant? {
      guard !hasEnded, !Task.isCancelled, let interval = timer.interval else { return end() }
      let clock = timer.clock
      let latest = self.latest ?? clock.now
      let next = latest.advanced(by: interval)
      // At the end of its time a clock may have no later instant.
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

/// The greatest multiple of a positive unit, zero included, that is not above the limit.
///
/// A `DurationProtocol` can be divided by another, but only as a `Double`, which does not know
/// every nanosecond of a day; and a multiple may be too great for an `Int`. So this is division as
/// it was done by doubling: exact, and nothing that it computes is greater than the limit.
///
/// - Complexity: O(log n), where n is how often the unit fits into the limit.
func greatestMultiple<D: DurationProtocol>(of unit: D, notAbove limit: D) -> D {
  guard unit <= limit else { return .zero }
  var doublings = [unit]
  var double = unit
  while double <= limit - double {
    let next = double + double
    // A duration of floating-point numbers may be infinite, and infinity does not grow.
    guard double < next else { break }
    double = next
    doublings.append(double)
  }
  var multiple = D.zero
  for doubling in doublings.reversed() where doubling <= limit - multiple {
    multiple += doubling
  }
  return multiple
}
