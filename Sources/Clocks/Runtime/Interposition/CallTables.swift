#if os(Linux) && canImport(Glibc)
  import Glibc

  /// The tables through which a library calls the functions of others (ELF, x86-64 and arm64).
  ///
  /// The dynamic linker keeps the address of each such function in a table of the calling library.
  /// Another address there redirects the calls of that library, and of no other.
  enum CallTables {
    /// What the dynamic linker knows about a loaded library: the beginning of its `struct
    /// link_map`.
    private struct LoadedLibrary {
      var base: UInt
      var name: UnsafePointer<CChar>?
      var dynamicSection: UnsafePointer<DynamicEntry>?
      var next: UnsafePointer<LoadedLibrary>?
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
      static let relocations = 7
      static let relocationsSize = 8
      static let callRelocations = 23
    }

    /// The kinds of entry that hold the address of a function, and nothing else.
    private enum Kind {
      #if arch(arm64)
        static let all: Set<UInt32> = [1025, 1026]
      #else
        static let all: Set<UInt32> = [6, 7]
      #endif
    }

    /// Puts `function` in the place of another one in the call table of a library, if it is loaded, and
    /// says whether that could be done.
    static func redirect(
      _ name: StaticString, in library: String, to function: UnsafeRawPointer
    ) -> Bool {
      guard let handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD) else { return false }
      // In the GNU C library a handle is the `link_map` of the library.
      let loaded = handle.assumingMemoryBound(to: LoadedLibrary.self).pointee
      return redirect([(name, function)], in: loaded).contains(0)
    }

    /// Puts functions in the places of others in the call table of a library, if it is loaded, and
    /// returns the numbers of those that it calls.
    static func redirect(
      _ functions: [(name: StaticString, function: UnsafeRawPointer)], in library: String
    ) -> Set<Int> {
      guard let handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD) else { return [] }
      return redirect(functions, in: handle.assumingMemoryBound(to: LoadedLibrary.self).pointee)
    }

    /// Whether a library is loaded and calls all these functions; nothing is changed.
    static func calls(_ names: [StaticString], in library: String) -> Bool {
      guard let handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD) else { return false }
      let loaded = handle.assumingMemoryBound(to: LoadedLibrary.self).pointee
      return waitForCurrentJobAndTask(names, in: loaded) { _, _ in true }.count == names.count
    }

    /// Where a library begins in memory, if it is loaded.
    static func base(of library: String) -> UInt? {
      dlopen(library, RTLD_LAZY | RTLD_NOLOAD)?.assumingMemoryBound(to: LoadedLibrary.self).pointee
        .base
    }

    /// Puts functions in the places of others in the program and in every library that is loaded but
    /// the Swift runtime's own, and says whether the program calls the first of them.
    static func redirectUsers(
      _ functions: [(name: StaticString, function: UnsafeRawPointer)]
    ) -> Bool {
      var next = UnsafePointer<LoadedLibrary>(
        dlopen(nil, RTLD_LAZY)?.assumingMemoryBound(to: LoadedLibrary.self))
      var isProgram = true
      var isFirstFound = false
      while let library = next?.pointee {
        if isProgram || !isOfRuntime(library) {
          let found = redirect(functions, in: library)
          if isProgram { isFirstFound = found.contains(0) }
        }
        isProgram = false
        next = library.next
      }
      return isFirstFound
    }

    /// Puts functions in the places of others in the program itself.
    static func redirectProgram(
      _ functions: [(name: StaticString, function: UnsafeRawPointer)]
    ) {
      guard let program = dlopen(nil, RTLD_LAZY) else { return }
      _ = redirect(functions, in: program.assumingMemoryBound(to: LoadedLibrary.self).pointee)
    }

    private static func isOfRuntime(_ library: LoadedLibrary) -> Bool {
      guard let name = library.name.map({ String(cString: $0) }) else { return true }
      return name.contains("libswift_Concurrency") || name.contains("libswiftCore")
    }

    private static func redirect(
      _ functions: [(name: StaticString, function: UnsafeRawPointer)], in library: LoadedLibrary
    ) -> Set<Int> {
      waitForCurrentJobAndTask(functions.map(\.name), in: library) { number, address in
        replaceWord(at: address, with: functions[number].function)
      }
    }

    /// Goes through the entries of functions in a library's table, and returns the numbers of those for
    /// which `body` said yes.
    ///
    /// - Parameter body: Is given the number of a function and the address of its entry.
    private static func waitForCurrentJobAndTask(
      _ names: [StaticString], in library: LoadedLibrary, _ body: (Int, UInt) -> Bool
    ) -> Set<Int> {
      guard var entry = library.dynamicSection else { return [] }
      var table: [Int: UInt] = [:]
      while entry.pointee.tag != Tag.end {
        table[entry.pointee.tag] = entry.pointee.value
        entry += 1
      }
      func address(_ tag: Int) -> UInt? {
        // Some systems leave these addresses relative to the library's base.
        table[tag].map { $0 < library.base ? $0 + library.base : $0 }
      }
      guard
        let strings = address(Tag.strings).flatMap({ UnsafePointer<CChar>(bitPattern: $0) }),
        let symbols = address(Tag.symbols).flatMap({ UnsafePointer<Symbol>(bitPattern: $0) })
      else { return [] }
      var found: Set<Int> = []
      // A library that is bound at load has all entries among its other relocations.
      for (tag, sizeTag) in [
        (Tag.callRelocations, Tag.callRelocationsSize), (Tag.relocations, Tag.relocationsSize),
      ] {
        guard
          let relocations = address(tag).flatMap({ UnsafePointer<Relocation>(bitPattern: $0) }),
          let size = table[sizeTag]
        else { continue }
        for index in 0..<(Int(size) / MemoryLayout<Relocation>.stride) {
          let relocation = relocations[index]
          guard Kind.all.contains(UInt32(truncatingIfNeeded: relocation.info)) else { continue }
          let name = strings + Int(symbols[Int(relocation.info >> 32)].name)
          guard let number = names.firstIndex(where: { isEqual(name, $0) }),
            body(number, library.base + relocation.offset)
          else { continue }
          found.insert(number)
        }
      }
      return found
    }

    private static func isEqual(_ found: UnsafePointer<CChar>, _ name: StaticString) -> Bool {
      name.withUTF8Buffer { bytes in
        strncmp(found, bytes.baseAddress!, bytes.count) == 0 && found[bytes.count] == 0
      }
    }

    private static func replaceWord(at address: UInt, with function: UnsafeRawPointer) -> Bool {
      let pageSize = UInt(getpagesize())
      let page = UnsafeMutableRawPointer(bitPattern: address & ~(pageSize - 1))
      // The table may have been made read-only once the library was loaded.
      guard
        mprotect(page, Int(pageSize), PROT_READ | PROT_WRITE) == 0,
        let word = UnsafeMutablePointer<UnsafeRawPointer>(bitPattern: address)
      else { return false }
      word.pointee = function
      return true
    }
  }
#endif
