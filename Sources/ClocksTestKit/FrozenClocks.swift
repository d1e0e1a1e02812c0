// Makes `ContinuousClock`, `SuspendingClock` and `Date` read virtual time inside a scope, and real
// time everywhere else.
//
// The Swift runtime and Foundation read the system's clocks through one function of the C library,
// `clock_gettime`, whose address the dynamic linker keeps in a table of each library. At load we
// put ours into the tables of these two libraries and of no other: Dispatch, the C library itself
// and everybody else go on reading real time. This is why it lives in a module that only test
// binaries link.

#if os(Linux) && canImport(Glibc)
  @_spi(TestKit) import Clocks
  import Glibc

  enum FrozenClocks {
    /// Has the two libraries ask us for the time. To be called once, while there is only one
    /// thread.
    static func install() {
      if redirect(in: "libswift_Concurrency.so", to: readRuntimeClock) {
        RuntimeClockReadings.freeze()
      }
      _ = redirect(in: "libFoundationEssentials.so", to: readDate)
    }

    fileprivate typealias ClockFunction =
      @convention(c) (clockid_t, UnsafeMutablePointer<timespec>) -> CInt

    // MARK: - Redirecting a library's calls (ELF, x86-64 and arm64)

    /// What the dynamic linker knows about a loaded library: the beginning of its `struct
    /// link_map`.
    private struct LoadedLibrary {
      var base: UInt
      var name: UnsafePointer<CChar>?
      var dynamicSection: UnsafePointer<DynamicEntry>?
    }

    private struct DynamicEntry {
      var tag: Int
      var value: UInt
    }

    private struct Relocation {
      var offset: UInt
      var info: UInt
      var addend: Int
    }

    private struct Symbol {
      var name: UInt32
      var info: UInt8
      var other: UInt8
      var section: UInt16
      var value: UInt
      var size: UInt
    }

    private enum Tag {
      static let end = 0
      static let callRelocationsSize = 2
      static let strings = 5
      static let symbols = 6
      static let callRelocations = 23
    }

    /// Puts `function` in the place of `clock_gettime` in the table of a library, if it is loaded.
    private static func redirect(in library: String, to function: ClockFunction) -> Bool {
      guard let handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD) else { return false }
      // In the GNU C library a handle is the `link_map` of the library.
      let loaded = handle.assumingMemoryBound(to: LoadedLibrary.self).pointee
      guard var entry = loaded.dynamicSection else { return false }
      var table: [Int: UInt] = [:]
      while entry.pointee.tag != Tag.end {
        table[entry.pointee.tag] = entry.pointee.value
        entry += 1
      }
      func address(_ tag: Int) -> UInt? {
        // Some systems leave these addresses relative to the library's base.
        table[tag].map { $0 < loaded.base ? $0 + loaded.base : $0 }
      }
      guard
        let strings = address(Tag.strings).flatMap({ UnsafePointer<CChar>(bitPattern: $0) }),
        let symbols = address(Tag.symbols).flatMap({ UnsafePointer<Symbol>(bitPattern: $0) }),
        let relocations = address(Tag.callRelocations)
          .flatMap({ UnsafePointer<Relocation>(bitPattern: $0) }),
        let size = table[Tag.callRelocationsSize]
      else { return false }
      var found = false
      for index in 0..<(Int(size) / MemoryLayout<Relocation>.stride) {
        let symbol = symbols[Int(relocations[index].info >> 32)]
        guard strcmp(strings + Int(symbol.name), "clock_gettime") == 0 else { continue }
        found = replaceWord(at: loaded.base + relocations[index].offset, with: function) || found
      }
      return found
    }

    private static func replaceWord(at address: UInt, with function: ClockFunction) -> Bool {
      let pageSize = UInt(getpagesize())
      let page = UnsafeMutableRawPointer(bitPattern: address & ~(pageSize - 1))
      // The table may have been made read-only once the library was loaded.
      guard
        mprotect(page, Int(pageSize), PROT_READ | PROT_WRITE) == 0,
        let word = UnsafeMutablePointer<ClockFunction>(bitPattern: address)
      else { return false }
      word.pointee = function
      return true
    }
  }

  /// What the runtime calls for one of its clocks.
  private func readRuntimeClock(
    _ clock: clockid_t, into result: UnsafeMutablePointer<timespec>
  ) -> CInt {
    read(clock, isDate: false, into: result)
  }

  /// What Foundation calls, for the date and for other things.
  private func readDate(_ clock: clockid_t, into result: UnsafeMutablePointer<timespec>) -> CInt {
    read(clock, isDate: true, into: result)
  }

  private func read(
    _ clock: clockid_t, isDate: Bool, into result: UnsafeMutablePointer<timespec>
  ) -> CInt {
    guard
      !isDate || clock == CLOCK_REALTIME,
      let reading = RuntimeClockReadings.virtualReading(of: clock, isDate: isDate)
    else { return clock_gettime(clock, result) }
    result.pointee = reading
    return 0
  }
#endif
