// Sources of nondeterminism apart from the order of jobs: random numbers, real time, and the order of a `Set` or
// a `Dictionary`.

import ClocksSupport

/// The functions by which tests reach sources of nondeterminism, replaced as soon as a test is explored.
enum NondeterminismHooks {
  /// Makes explored tests draw equal random numbers in each run, and reports the other sources that they use.
  ///
  /// Only the first call has an effect. Thread-safe.
  static func redirect() { _ = redirected }

  /// Called before the hooks are installed: in a test process, before there are other threads.
  ///
  /// Other threads read what is stored here as soon as calls are redirected.
  static func prepare() {
    #if os(Linux) && canImport(Glibc)
      originalSystemCall = RuntimeSymbol.address(of: "syscall")
      // Where this package is linked into the test bundle, its own readings pass through the program's call table, too.
      // They must not count as readings of the test.
      RealTime.originalRead = RuntimeSymbol.function(
        "clock_gettime", as: RuntimeClocks.ReadClock.self)
    #endif
  }

  private static let redirected: Void = {
    #if os(Linux) && canImport(Glibc)
      guard fill.entry.isFound else { return }
      CallTables.redirect([fill.entry], in: .users)
      // `prepare` was called when the hooks were installed. Without hooks, it is called here.
      if originalSystemCall == nil { prepare() }
      for library in ["libswiftCore.so", "libFoundationEssentials.so"] as [StaticString] {
        CallTables.redirect([callSystem.entry], in: .library(library))
      }
      CallTables.redirect([makeUUID.entry], in: .library("libFoundationEssentials.so"))
      CallTables.redirect([readClock.entry], in: .library("libdispatch.so"))
      CallTables.redirect([RunLoopTimers.readClock.entry], in: .library("libFoundation.so"))
      let clocks = RuntimeClocks.isTestBundleVirtual ? [] : [readClock.entry]
      CallTables.redirect(
        clocks + [rand.entry, random.entry, drand48.entry, getrandom.entry], in: .testBundle)
    #endif
  }()

  #if os(Linux) && canImport(Glibc)
    private typealias Fill = @convention(thin) (UnsafeMutableRawPointer, Int) -> Void
    private typealias FillBuffer =
      @convention(c) (UnsafeMutableRawPointer?, Int, CUnsignedInt) -> Int
    private typealias MakeUUID = @convention(c) (UnsafeMutableRawPointer) -> Void
    /// The number of the system call, and up to six arguments.
    private typealias CallSystem = @convention(c) (Int, Int, Int, Int, Int, Int, Int) -> Int

    private static let fill: Interposed<Fill> = Interposed("swift_stdlib_random") { buffer, count in
      if owner?.draw(UnsafeMutableRawBufferPointer(start: buffer, count: count)) == true { return }
      fill.original(buffer, count)
    }

    /// The address of `syscall`; set by `prepare`.
    ///
    /// The replacement does not read the address from `callSystem`: a thread that waits for a static variable, or for
    /// the metadata of a generic type, makes a system call. If the replacement used either, it would call itself
    /// without end.
    nonisolated(unsafe) private static var originalSystemCall: UnsafeMutableRawPointer?

    /// The standard library and Foundation draw random numbers by a system call.
    private static let callSystem: Interposed<CallSystem> = Interposed("syscall") {
      number, first, second, third, fourth, fifth, sixth in
      if number == getrandomNumber, let start = UnsafeMutableRawPointer(bitPattern: first),
        owner?.draw(UnsafeMutableRawBufferPointer(start: start, count: second)) == true
      {
        return second
      }
      return unsafeBitCast(originalSystemCall, to: CallSystem.self)(
        number, first, second, third, fourth, fifth, sixth)
    }

    /// The number of the system call `getrandom`.
    ///
    /// Computed, because Swift initializes a static variable under a lock, and a wait for the lock is a system call.
    private static var getrandomNumber: Int {
      #if arch(arm64)
        278
      #else
        318
      #endif
    }

    private static let makeUUID: Interposed<MakeUUID> = Interposed(
      "_foundation_uuid_generate_random"
    ) { result in
      let bytes = UnsafeMutableRawBufferPointer(start: result, count: 16)
      guard owner?.draw(bytes) == true else { return makeUUID.original(result) }
      // Version 4 (random), variant 1 (RFC 9562).
      bytes[6] = bytes[6] & 0x0F | 0x40
      bytes[8] = bytes[8] & 0x3F | 0x80
    }

    private static let readClock: Interposed<RuntimeClocks.ReadClock> = Interposed("clock_gettime")
    {
      clockIsRead()
      return readClock.original($0, $1)
    }

    private static let rand: Interposed<@convention(c) () -> CInt> = Interposed("rand") {
      owner?.asked(.number)
      return rand.original()
    }

    private static let random: Interposed<@convention(c) () -> Int> = Interposed("random") {
      owner?.asked(.number)
      return random.original()
    }

    private static let drand48: Interposed<@convention(c) () -> Double> = Interposed("drand48") {
      owner?.asked(.number)
      return drand48.original()
    }

    private static let getrandom: Interposed<FillBuffer> = Interposed("getrandom") {
      owner?.asked(.number)
      return getrandom.original($0, $1, $2)
    }
  #endif

  /// Notes that the current thread reads the real time.
  static func clockIsRead() {
    if let reader = ThreadContext.ownerOfReader, reader.isExplored { reader.asked(.clock) }
  }

  private static var owner: TaskOwner? {
    ThreadContext.ownerOfJob.flatMap { $0.isExplored ? $0 : nil }
  }
}

/// The seeds with which the standard library hashes.
///
/// The order of a `Set` or a `Dictionary` depends on two numbers that the process draws at its start, and on the
/// address of the storage. Explored tests need both to be equal in each run and each process.
///
/// Source: `_swift_stdlib_Hashing_parameters` and `_HashTable.hashSeed` of the Swift standard library.
package enum Hashing {
  #if os(Linux) && canImport(Glibc)
    private struct Parameters {
      var seed0: UInt64
      var seed1: UInt64
      /// Whether a table's seed follows from its size, and not from its address.
      var isDeterministic: Bool
    }

    nonisolated(unsafe) private static let parameters: UnsafeMutablePointer<Parameters>? =
      RuntimeSymbol.address(of: "_swift_stdlib_Hashing_parameters")?
      .assumingMemoryBound(to: Parameters.self)
  #endif

  nonisolated(unsafe) private static var areSeedsFixed = false

  /// Makes the process hash with fixed seeds. Called at load, before there is a `Set` or a `Dictionary`.
  ///
  /// The order still depends on the addresses of the storage. Does nothing if `CLOCKS_HASHING` is `random`.
  package static func fixSeeds() {
    #if os(Linux) && canImport(Glibc)
      guard !areSeedsFixed, !Environment.hasRandomSeeds, let parameters else { return }
      let drawn = parameters.pointee
      // Verifies that `parameters` holds the seeds: other seeds must give other hashes, and equal seeds equal ones.
      func hash(_ seed: UInt64) -> Int {
        parameters.pointee.seed0 = seed
        parameters.pointee.seed1 = ~seed
        var hasher = Hasher()
        hasher.combine(1)
        return hasher.finalize()
      }
      let hashes = [hash(1), hash(2), hash(1)]
      guard hashes[0] == hashes[2], hashes[0] != hashes[1] else {
        parameters.pointee = drawn
        return
      }
      areSeedsFixed = true
    #endif
  }

  /// Makes the order of elements in each new `Set` and `Dictionary` independent of the storage's address.
  ///
  /// Does nothing if `fixSeeds` has not fixed the seeds. Thread-safe.
  static func ignoreAddresses() { _ = areAddressesIgnored }

  /// A static constant, so that only the first of several parallel tests writes to the parameters.
  private static let areAddressesIgnored: Void = {
    #if os(Linux) && canImport(Glibc)
      if areSeedsFixed { parameters?.pointee.isDeterministic = true }
    #endif
  }()
}
