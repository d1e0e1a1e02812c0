#if os(Linux) && canImport(Glibc)
  extension TestDispatchSource {
    enum Kind {
      case timer
      /// The program merges data: by adding, by combining the bits, or by replacing what was there.
      case sum, bits, value
      case other

      /// Whether the program merges data.
      var isMerged: Bool { self == .sum || self == .bits || self == .value }
    }

    /// Sets a handler of the source, or none, by calling a function of Dispatch.
    typealias Setter = (UnsafeRawPointer?) -> Void
    /// `event`, `registration` or `cancellation`.
    typealias Handler = ReferenceWritableKeyPath<TestDispatchSource, Work>

    /// The state of a handler. Its work counts while the source is active and not suspended.
    struct Work {
      var hasHandler = false
      var isDue = false
      var count = DispatchedBlock.Count.none
    }

    /// Returns the nanoseconds between two firings; `nil` if a timer with this interval fires once.
    ///
    /// Dispatch takes zero for a nanosecond, and calls the handler as often as it can. In virtual time, that is a
    /// hundred times in a millisecond.
    static func repetition(_ interval: UInt64) -> UInt64? {
      guard interval > 0 else { return 10_000 }
      return interval < UInt64(Int64.max) ? interval : nil
    }
  }
#endif
