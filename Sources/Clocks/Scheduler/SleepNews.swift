/// A sleep that has just been registered, and those who are to be told of it, without the lock.
struct SleepNews<Duration: DurationProtocol & Hashable> {
  let sleep: VirtualClock<Duration>.Sleeps.Pending
  let listeners: [UInt64: VirtualClock<Duration>.Listener]

  /// Tells them, in the order in which they asked.
  func tell() {
    for (_, listener) in listeners.sorted(by: { $0.key < $1.key }) { listener(sleep) }
  }
}
