#if os(Linux) && canImport(Glibc)
  extension TestDispatchSource {
    enum Kind {
      case timer
      /// The program merges data: by adding, by combining the bits, or by replacing what was there.
      case sum, bits, value
      case other
    }

    /// Sets a handler of the source, or none, by calling a function of Dispatch.
    typealias Setter = (UnsafeRawPointer?) -> Void
    /// `event`, `registration` or `cancellation`.
    typealias Handler = ReferenceWritableKeyPath<TestDispatchSource, Work>

    /// What a handler has to do. It counts while the source is active and not suspended.
    struct Work {
      var hasHandler = false
      var isDue = false
      /// The owner's number for the work; 0 while it does not count.
      var number: UInt64 = 0
    }
  }
#endif
