import ClocksSupport

/// The one way to look up functions and variables of this process by name.
package enum RuntimeSymbol {
  /// `nil` if no image of this process exports the symbol.
  package static func address(of name: String) -> UnsafeMutableRawPointer? {
    #if canImport(Darwin)
      // `RTLD_DEFAULT`, which Swift does not import.
      return dlsym(UnsafeMutableRawPointer(bitPattern: -2), name)
    #elseif canImport(Glibc) || canImport(Musl) || canImport(Android)
      return dlsym(nil, name)
    #else
      return nil
    #endif
  }

  /// - Parameter type: The exact type of the function, `@convention(c)` or `@convention(thin)`.
  static func function<Function>(_ name: String, as type: Function.Type) -> Function? {
    address(of: name).map { unsafeBitCast($0, to: type) }
  }
}

#if os(Linux) && canImport(Glibc)
  /// The tables through which images call functions of other images (ELF, x86-64 and arm64).
  ///
  /// The dynamic linker keeps the address of each such function in a table of the calling image. Writing another
  /// address there redirects the calls of that image, and of no other.
  package enum CallTables {
    package struct Entry: @unchecked Sendable {
      let name: StaticString
      let replacement: UnsafeRawPointer
      /// Whether an image of this process exports the function.
      let isFound: Bool

      package init(name: StaticString, replacement: UnsafeRawPointer, isFound: Bool) {
        (self.name, self.replacement, self.isFound) = (name, replacement, isFound)
      }
    }

    /// The images whose calls are redirected.
    package enum Callers {
      /// A library, by the beginning of its file name.
      case library(StaticString)
      case testBundle
      /// The program and all libraries except libdispatch, libswiftCore and libswift_Concurrency.
      case users

      fileprivate var images: [LoadedImage] {
        switch self {
        case .library(let name): LoadedImage.all(named: name)
        case .testBundle: [LoadedImage.testBundle].compactMap { $0 }
        case .users:
          // The program's name is empty, so it passes the filter.
          LoadedImage.all.filter {
            !$0.isNamed("libswift_Concurrency") && !$0.isNamed("libswiftCore")
              && !$0.isNamed("libdispatch.so")
          }
        }
      }
    }

    /// Redirects calls. Returns whether this module's image calls all the functions. If that image is not among the
    /// callers, the first one counts.
    ///
    /// Changes nothing if a function does not exist in this process. O(relocations of the images).
    @discardableResult
    package static func redirect(_ entries: [Entry], in callers: Callers) -> Bool {
      guard entries.allSatisfy(\.isFound) else { return false }
      return redirectEach(entries, in: callers).count == entries.count
    }

    /// Redirects the calls of all functions that exist, in one pass.
    ///
    /// Returns the positions of the functions that one image calls: the image that counts for `redirect`.
    static func redirectEach(_ entries: [Entry], in callers: Callers) -> Set<Int> {
      let images = callers.images
      let results = redirectEach(entries, in: images)
      let ofThisModule = images.firstIndex { $0.base == LoadedImage.ofThisModule?.base }
      return (ofThisModule ?? images.indices.first).map { results[$0] } ?? []
    }

    /// Redirects calls that a library is known to make. Returns whether it makes them all.
    ///
    /// Notes the others in `LostCalls`, unless the library is not loaded.
    ///
    /// - Parameters:
    ///   - others: More calls. No library is known to make them.
    ///   - callers: The images whose calls are redirected; `nil` for the library alone.
    ///   - together: Whether to change nothing if a function does not exist in this process.
    @discardableResult
    static func redirect(
      _ entries: [Entry], knownIn library: StaticString, and others: [Entry] = [],
      in callers: Callers? = nil, together: Bool = true
    ) -> Bool {
      let images = (callers ?? .library(library)).images
      let all = entries + others
      let isPossible = !together || all.allSatisfy(\.isFound)
      let results = isPossible ? redirectEach(all, in: images) : []
      guard let place = images.firstIndex(where: { $0.isNamed(library) }) else { return false }
      let seen = isPossible ? results[place] : []
      LostCalls.note(entries, except: seen)
      LostCalls.noteMissing(others)
      return entries.indices.allSatisfy(seen.contains)
    }

    private static func redirectEach(
      _ entries: [Entry], in images: [LoadedImage]
    ) -> [Set<Int>] {
      images.map { image in
        let readOnly = image.readOnlyData
        return forEachWord(of: entries, in: image) { entry, word in
          entry.isFound
            && ProtectedMemory.write(at: word, readOnly: readOnly) {
              $0.storeBytes(of: entry.replacement, as: UnsafeRawPointer.self)
            }
        }
      }
    }

    /// Returns whether a library is loaded and calls all the functions.
    static func calls(_ entries: [Entry], in library: StaticString) -> Bool {
      Callers.library(library).images.first.map { image in
        forEachWord(of: entries, in: image) { _, _ in true }.count == entries.count
      } ?? false
    }

    /// Calls `body` for each word of an image's tables that holds one of the functions. Returns the functions for
    /// which `body` returned `true`.
    private static func forEachWord(
      of entries: [Entry], in image: LoadedImage, _ body: (Entry, UnsafeMutableRawPointer) -> Bool
    ) -> Set<Int> {
      guard let names = image.dynamicPointer(.names, to: CChar.self),
        let symbols = image.dynamicPointer(.symbols, to: ELF.Symbol.self)
      else { return [] }
      var found: Set<Int> = []
      let count = entries.count
      let wanted = UnsafeMutablePointer<UnsafePointer<CChar>>.allocate(capacity: count)
      defer { wanted.deallocate() }
      // For each character, whether one of the names begins with it.
      let begins = UnsafeMutablePointer<Bool>.allocate(capacity: 256)
      defer { begins.deallocate() }
      begins.initialize(repeating: false, count: 256)
      for (number, entry) in entries.enumerated() {
        wanted[number] = UnsafeRawPointer(entry.name.utf8Start).assumingMemoryBound(to: CChar.self)
        begins[Int(entry.name.utf8Start.pointee)] = true
      }
      // An image that is bound at load may have its functions in the second table, after the relocations without a
      // symbol.
      let tables: [(ELF.DynamicEntry.Tag, ELF.DynamicEntry.Tag, UInt)] = [
        (.callRelocations, .callRelocationsSize, 0),
        (.relocations, .relocationsSize, image.dynamicValue(.relativeRelocationsCount) ?? 0),
      ]
      for (table, size, skipped) in tables {
        guard let size = image.dynamicValue(size),
          let start = image.dynamicPointer(table, to: ELF.Relocation.self)
        else { continue }
        // Each test process runs this loop at load, mostly without optimization, for some 20,000 relocations.
        let end = start + Int(size) / MemoryLayout<ELF.Relocation>.stride
        var next = start + Int(skipped)
        while next < end {
          let relocation = next
          next += 1
          guard relocation.pointee.holdsAddress else { continue }
          let symbol = Int(truncatingIfNeeded: relocation.pointee.info &>> 32)
          let name = names + Int(symbols[symbol].name)
          guard begins[Int(UInt8(bitPattern: name.pointee))] else { continue }
          var number = 0
          while number < count, strcmp(name, wanted[number]) != 0 { number += 1 }
          guard
            number < count,
            let word = UnsafeMutableRawPointer(bitPattern: image.base + relocation.pointee.offset),
            body(entries[number], word)
          else { continue }
          found.insert(number)
        }
      }
      return found
    }
  }

  extension ELF.Relocation {
    /// Whether the word holds the address of a function or a variable, and nothing else:
    /// `R_…_GLOB_DAT` and `R_…_JUMP_SLOT`.
    @_transparent fileprivate var holdsAddress: Bool {
      let kind = info & 0xFFFF_FFFF
      #if arch(arm64)
        return kind == 1025 || kind == 1026
      #else
        return kind == 6 || kind == 7
      #endif
    }
  }

  /// A function of another image, and the function that replaces it in call tables.
  ///
  /// `Function` is the exact type of both: `@convention(c)`, or `@convention(thin)` for a Swift function
  /// without a context. A replacement may call `original`.
  struct Interposed<Function>: @unchecked Sendable {
    let entry: CallTables.Entry
    /// The replaced function; `nil` if no image of this process exports it.
    let found: UnsafeMutableRawPointer?

    init(_ name: StaticString, _ replacement: Function) {
      found = RuntimeSymbol.address(of: "\(name)")
      entry = CallTables.Entry(
        name: name, replacement: unsafeBitCast(replacement, to: UnsafeRawPointer.self),
        isFound: found != nil)
    }

    /// The replaced function. Requires that it was found, as it was if `CallTables.redirect` succeeded.
    ///
    /// Transparent, because otherwise a debug build would call a generic function. Computed, because the compiler
    /// (6.3) crashes on stored properties of a generic, thin type.
    @_transparent var original: Function { unsafeBitCast(found, to: Function.self) }
  }
#endif

/// Writes to memory that the dynamic linker may have made read-only after filling it.
enum ProtectedMemory {
  /// Guards the protection of pages, because two threads may write to one page. Rank `leaf`.
  private static let lock = Lock(.leaf)

  /// Calls `body` while `count` bytes from `address` are writable, and returns whether they could be made so.
  ///
  /// - Parameter readOnly: The memory that the linker made read-only, at least that around `address`.
  static func write(
    at address: UnsafeMutableRawPointer, count: Int = MemoryLayout<UInt>.size,
    readOnly: [Range<UInt>], _ body: (UnsafeMutableRawPointer) -> Void
  ) -> Bool {
    #if !canImport(CRT) && !canImport(WASILibc)
      let pageSize = UInt(getpagesize())
      let start = UInt(bitPattern: address)
      let first = start & ~(pageSize - 1)
      let end = (start + UInt(count) + pageSize - 1) & ~(pageSize - 1)
      let wasReadOnly = readOnly.contains { $0.contains(start) }
      let pages = UnsafeMutableRawPointer(bitPattern: first)
      return lock.withLock {
        guard mprotect(pages, Int(end - first), PROT_READ | PROT_WRITE) == 0 else { return false }
        body(address)
        return !wasReadOnly || mprotect(pages, Int(end - first), PROT_READ) == 0
      }
    #else
      return false
    #endif
  }
}
