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

    /// Puts `function` in the place of another one in the call table of a library, if it is loaded, and
    /// says whether that could be done.
    static func redirect(
      _ name: StaticString, in library: String, to function: UnsafeRawPointer
    ) -> Bool {
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
        guard
          name.withUTF8Buffer({ bytes in
            let found = strings + Int(symbol.name)
            return strncmp(found, bytes.baseAddress!, bytes.count) == 0 && found[bytes.count] == 0
          })
        else { continue }
        found = replaceWord(at: loaded.base + relocations[index].offset, with: function) || found
      }
      return found
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
