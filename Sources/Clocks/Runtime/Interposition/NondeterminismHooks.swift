// What a test asks for that is different each time: numbers that are drawn, and real time. User code and
// Foundation call a function of the standard library, or of the C library, through the call tables of their
// images. There we put ours in their places, as soon as a test is explored.

#if os(Linux) && canImport(Glibc)
  import Glibc
#endif

/// What an explored test asks for that is different each time.
enum NondeterminismHooks {
  /// Sees to it that explored tests draw the same numbers each time, and that what else they ask is noted. It
  /// is done once. Thread-safe.
  static func redirect() { _ = isRedirected }

  #if os(Linux) && canImport(Glibc)
    private typealias Fill = @convention(thin) (UnsafeMutableRawPointer, Int) -> Void
    private typealias ReadClock =
      @convention(c) (clockid_t, UnsafeMutablePointer<timespec>) -> CInt
    private typealias DrawInt = @convention(c) () -> CInt
    private typealias DrawLong = @convention(c) () -> Int
    private typealias DrawDouble = @convention(c) () -> Double
    private typealias FillBuffer =
      @convention(c) (UnsafeMutableRawPointer?, Int, CUnsignedInt) -> Int
    private typealias MakeUUID = @convention(c) (UnsafeMutableRawPointer) -> Void
    /// A call of the system; it has up to six arguments.
    private typealias CallSystem = @convention(c) (Int, Int, Int, Int, Int, Int, Int) -> Int

    /// The functions in whose places ours are.
    private struct Originals {
      var fill: UnsafeMutableRawPointer
      var clock: UnsafeMutableRawPointer
      var rand: UnsafeMutableRawPointer
      var random: UnsafeMutableRawPointer
      var drand48: UnsafeMutableRawPointer
      var getrandom: UnsafeMutableRawPointer
      var syscall: UnsafeMutableRawPointer
      /// Foundation's, if it is loaded.
      var makeUUID = dlsym(nil, "_foundation_uuid_generate_random")

      init?() {
        guard let fill = dlsym(nil, "swift_stdlib_random"), let clock = dlsym(nil, "clock_gettime"),
          let rand = dlsym(nil, "rand"), let random = dlsym(nil, "random"),
          let drand48 = dlsym(nil, "drand48"), let getrandom = dlsym(nil, "getrandom"),
          let syscall = dlsym(nil, "syscall")
        else { return nil }
        (self.fill, self.clock, self.rand) = (fill, clock, rand)
        (self.random, self.drand48, self.getrandom) = (random, drand48, getrandom)
        self.syscall = syscall
      }
    }

    /// Set before ours are in their places.
    nonisolated(unsafe) private static var originals: Originals!

    /// The number of the system's call that draws. Computed, because what is made at its first use asks the
    /// system for that.
    private static var getrandomNumber: Int {
      #if arch(arm64)
        278
      #else
        318
      #endif
    }

    private static let isRedirected: Bool = {
      guard let originals = Originals() else { return false }
      NondeterminismHooks.originals = originals
      let fill: Fill = { buffer, count in
        let bytes = UnsafeMutableRawBufferPointer(start: buffer, count: count)
        if NondeterminismHooks.owner?.draw(bytes) == true { return }
        unsafeBitCast(NondeterminismHooks.originals.fill, to: Fill.self)(buffer, count)
      }
      let readClock: ReadClock = { clock, result in
        NondeterminismHooks.owner?.asked(.clock)
        return unsafeBitCast(NondeterminismHooks.originals.clock, to: ReadClock.self)(clock, result)
      }
      let rand: DrawInt = {
        NondeterminismHooks.owner?.asked(.number)
        return unsafeBitCast(NondeterminismHooks.originals.rand, to: DrawInt.self)()
      }
      let random: DrawLong = {
        NondeterminismHooks.owner?.asked(.number)
        return unsafeBitCast(NondeterminismHooks.originals.random, to: DrawLong.self)()
      }
      let drand48: DrawDouble = {
        NondeterminismHooks.owner?.asked(.number)
        return unsafeBitCast(NondeterminismHooks.originals.drand48, to: DrawDouble.self)()
      }
      let getrandom: FillBuffer = { buffer, count, flags in
        NondeterminismHooks.owner?.asked(.number)
        return unsafeBitCast(NondeterminismHooks.originals.getrandom, to: FillBuffer.self)(
          buffer, count, flags)
      }
      let fillPointer = unsafeBitCast(fill, to: UnsafeRawPointer.self)
      _ = CallTables.redirectUsers([("swift_stdlib_random", fillPointer)])
      // Where the standard library and Foundation draw for themselves.
      let callSystem: CallSystem = { number, first, second, third, fourth, fifth, sixth in
        if number == NondeterminismHooks.getrandomNumber,
          let start = UnsafeMutableRawPointer(bitPattern: first),
          NondeterminismHooks.owner?.draw(.init(start: start, count: second)) == true
        {
          return second
        }
        return unsafeBitCast(NondeterminismHooks.originals.syscall, to: CallSystem.self)(
          number, first, second, third, fourth, fifth, sixth)
      }
      let syscall = unsafeBitCast(callSystem, to: UnsafeRawPointer.self)
      _ = CallTables.redirect("syscall", in: "libswiftCore.so", to: syscall)
      _ = CallTables.redirect("syscall", in: "libFoundationEssentials.so", to: syscall)
      let makeUUID: MakeUUID = { result in
        let bytes = UnsafeMutableRawBufferPointer(start: result, count: 16)
        guard NondeterminismHooks.owner?.draw(bytes) == true else {
          return unsafeBitCast(NondeterminismHooks.originals.makeUUID, to: MakeUUID.self)(result)
        }
        // The fourth version, made by chance, of the usual variant.
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
      }
      if originals.makeUUID != nil {
        _ = CallTables.redirect(
          "_foundation_uuid_generate_random", in: "libFoundationEssentials.so",
          to: unsafeBitCast(makeUUID, to: UnsafeRawPointer.self))
      }
      let clock = unsafeBitCast(readClock, to: UnsafeRawPointer.self)
      _ = CallTables.redirect("clock_gettime", in: "libdispatch.so", to: clock)
      _ = CallTables.redirect("clock_gettime", in: "libFoundation.so", to: clock)
      CallTables.redirectProgram([
        ("clock_gettime", clock),
        ("rand", unsafeBitCast(rand, to: UnsafeRawPointer.self)),
        ("random", unsafeBitCast(random, to: UnsafeRawPointer.self)),
        ("drand48", unsafeBitCast(drand48, to: UnsafeRawPointer.self)),
        ("getrandom", unsafeBitCast(getrandom, to: UnsafeRawPointer.self)),
      ])
      return true
    }()
  #else
    private static let isRedirected = false
  #endif

  /// The explored owner on whose behalf the current thread runs a job.
  private static var owner: TaskOwner? {
    guard let context = ThreadContext.current, context.pointee.isInJob,
      let owner = ThreadContext.runningOwner, owner.isExplored
    else { return nil }
    return owner
  }
}
