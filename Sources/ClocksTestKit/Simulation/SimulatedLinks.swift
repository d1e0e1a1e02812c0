import Clocks
import ClocksSupport

/// The delays of messages, bytes or syncs. A search chooses one of four; outside a search each delay is the least.
struct SimulatedDelays: Sendable {
  private let options: [Duration]

  /// - Parameter owner: The object that has the range. A failure names it if the range is negative.
  init(_ range: ClosedRange<Duration>, of owner: String, at callSite: CallSite) {
    var least = range.lowerBound
    if least < .zero {
      recordFailure(
        """
        \(owner) expects a range of durations of zero or more, but got \(range.lowerBound) to \
        \(range.upperBound). Let it begin at .zero.
        """, at: callSite)
      least = .zero
    }
    let most = max(least, range.upperBound)
    let part = (most - least) / 3
    options = least == most ? [least] : [least, least + part, least + part * 2, most]
  }

  func next(in time: VirtualTime) -> Duration {
    options.count == 1 ? options[0] : time.choose(options)
  }
}

/// Links that deliver parcels after a delay. A parcel on its way retains the links.
final class SimulatedLinks: Sendable {
  /// Delivers what the parcel contains.
  typealias Parcel = @Sendable () -> Void

  /// The parcels on their way over one link, in the order in which they arrive.
  private struct Link {
    var parcels: [Parcel?] = []
    /// The number of parcels at the beginning of `parcels` that have arrived.
    var arrived = 0
    var lastArrival = VirtualTime.Instant()

    mutating func next() -> Parcel {
      let parcel = parcels[arrived]!
      parcels[arrived] = nil
      arrived += 1
      if arrived == parcels.count {
        parcels = []
        arrived = 0
      }
      return parcel
    }
  }

  let names: [String]
  private let clock: TestClock<Duration>
  private let reorders: Bool
  /// Guards the variables below. Rank `leaf`.
  private let lock = Lock(.leaf)
  /// Guarded by `lock`.
  nonisolated(unsafe) private var links: [Link]

  init(names: [String], in time: VirtualTime, reorders: Bool) {
    self.names = names
    clock = time.clock
    self.reorders = reorders
    links = names.map { _ in Link() }
  }

  /// Delivers a parcel after `delay`. If the links keep the order, it arrives after all earlier parcels of its link.
  ///
  /// Each parcel has a task, so that a search chooses the order of parcels that are due at one instant. If the links
  /// keep the order, a task that wakes takes the first parcel of the link, even if that parcel belongs to another task.
  func carry(over link: Int, for delay: Duration, _ parcel: @escaping Parcel) {
    var arrival = clock.now.advanced(by: delay)
    if !reorders {
      lock.withLock {
        arrival = max(arrival, links[link].lastArrival)
        links[link].lastArrival = arrival
        links[link].parcels.append(parcel)
      }
    }
    Task(name: names[link]) { [arrival] in
      // The sleep is cancelled when the scope ends; then nothing arrives any more.
      let hasSlept = (try? await clock.sleep(until: arrival)) != nil
      // The parcel is removed even if it is not delivered: otherwise it would retain its receiver, and so the link.
      let next = reorders ? parcel : lock.withLock { links[link].next() }
      if hasSlept { next() }
    }
  }
}
