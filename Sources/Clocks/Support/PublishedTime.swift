import Synchronization

/// The time of a virtual clock, and the offset of its scope's date, which any thread reads without a lock.
///
/// A job that waited for the scheduler's lock might wait for a thread that has no processor. A signal handler may have
/// interrupted a thread that holds the lock.
final class PublishedTime: Sendable {
  let now = PublishedDuration()
  let dateOffset = PublishedDuration()

  func time(ofDate isDate: Bool) -> Duration {
    isDate ? saturatingSum(now.value, dateOffset.value) : now.value
  }
}

/// A duration that is written with a lock held, and read without one; zero until it is written.
///
/// A write fills the place that is not current, and then makes it current. So a signal handler that interrupts a write
/// reads the value before it, and never waits.
struct PublishedDuration: ~Copyable {
  /// The number of writes. The last bit says which place is current.
  private let writes = Atomic<UInt>(0)
  private let even = Place()
  private let odd = Place()

  /// Requires a lock that all writers take.
  func write(_ value: Duration) {
    let number = writes.load(ordering: .relaxed) &+ 1
    if number & 1 == 0 { even.write(value) } else { odd.write(value) }
    writes.store(number, ordering: .releasing)
  }

  var value: Duration {
    while true {
      let number = writes.load(ordering: .acquiring)
      let value = number & 1 == 0 ? even.value : odd.value
      // Thread A reads a place. Meanwhile thread B writes twice, the second time to that place. So A reads again.
      if writes.load(ordering: .relaxed) == number { return value }
    }
  }

  private struct Place: ~Copyable {
    private let low = Atomic<UInt64>(0)
    private let high = Atomic<UInt64>(0)

    /// A thread that reads a word also sees the writes before that of the word.
    func write(_ value: Duration) {
      let words = unsafeBitCast(value, to: (UInt64, UInt64).self)
      low.store(words.0, ordering: .releasing)
      high.store(words.1, ordering: .releasing)
    }

    var value: Duration {
      unsafeBitCast(
        (low.load(ordering: .acquiring), high.load(ordering: .acquiring)), to: Duration.self)
    }
  }
}
