extension VirtualTime {
  /// Says what each task of the scope waits for at this moment, and where: a text for a person.
  ///
  /// See ``TestClock/dump()``.
  public func dump() -> String { scheduler.dumpText }
}

extension VirtualTime: CustomDebugStringConvertible {
  /// The scope's time and its pending sleeps; and, unless a task of another test asks, what its tasks wait
  /// for: ``dump()``.
  public var debugDescription: String {
    scheduler.scopeDescription.with(scheduler.dumpInDescription)
  }
}
