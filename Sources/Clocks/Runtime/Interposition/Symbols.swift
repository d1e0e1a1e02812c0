import ClocksSupport

/// A function in a call stack.
struct Frame: Hashable, Sendable {
  /// `nil` if the file in which the code is has no name for it.
  var function: FunctionName?
  /// The name of the file in which the code is.
  var image: String
  var line: SourceLine?
}

/// What addresses of code mean. Looked up only when something has failed.
struct Symbols {
  /// What has been looked up, by address.
  private(set) var frames: [UInt: Frame] = [:]
  /// Whether nobody could be found who knows the lines.
  private(set) var lacksTool = false

  /// Looks up what addresses mean. O(size of what the files say about it), some 100 ms for a large
  /// test bundle.
  ///
  /// They are looked up once in a process: a library is rarely taken out of it.
  init(of addresses: some Sequence<UInt>, in images: CodeImages) {
    (frames, lacksTool) = Self.cache.known
    look(Set(addresses).filter { frames[$0] == nil }, images, usesTool: true)
    Self.cache.add(self)
  }

  /// Looks up what addresses mean, and asks nobody but the files' own tables.
  init(withoutTool addresses: some Sequence<UInt>, in images: CodeImages) {
    look(Set(addresses), images, usesTool: false)
  }

  private static let cache = Cache()

  private final class Cache: Sendable {
    private let lock = Lock(.leaf)
    /// Guarded by the lock.
    nonisolated(unsafe) private var state: (frames: [UInt: Frame], lacksTool: Bool) = ([:], false)

    deinit { lock.destroy() }

    var known: (frames: [UInt: Frame], lacksTool: Bool) { lock.withLock { state } }

    func add(_ symbols: Symbols) {
      lock.withLock {
        state.frames.merge(symbols.frames) { $1 }
        state.lacksTool = state.lacksTool || symbols.lacksTool
      }
    }
  }

  private mutating func look(_ addresses: Set<UInt>, _ images: CodeImages, usesTool: Bool) {
    var tables: [String: SymbolTable] = [:]
    var places: [UInt: CodePlace] = [:]
    for address in addresses {
      guard let stretch = images.stretch(of: address) else { continue }
      frames[address] = Frame(image: String(stretch.path.split(separator: "/").last ?? ""))
      let table = tables[stretch.path] ?? SymbolTable(path: stretch.path)
      tables[stretch.path] = table
      let offset = address - stretch.range.lowerBound + stretch.offset
      places[address] = table?.address(ofOffset: offset).map {
        CodePlace(path: stretch.path, address: $0)
      }
    }
    guard !places.isEmpty else { return }
    let library = images.path(ofFileBeginningWith: "libswiftCore")
    let meanings =
      usesTool ? Symbolizer.meanings(of: Array(Set(places.values)), runtime: library) : nil
    if meanings == nil { lacksTool = true }
    for (address, place) in places {
      let symbol =
        meanings == nil ? tables[place.path]?.symbol(at: place.address) : meanings?[place]?.symbol
      frames[address]?.function = symbol.map { FunctionName(demangled: demangled($0)) }
      frames[address]?.line = meanings?[place]?.line
    }
  }

  /// Where the innermost function of the user's is, in a few words: its name without its type, or the
  /// line if it is a closure, which has no name; `nil` if none of these is known.
  ///
  /// - Parameter functions: A call stack, the innermost function first.
  func place(of functions: [UInt]) -> String? {
    for case let frame? in functions.map({ frames[$0] }) {
      guard let function = frame.function, !function.isThunk, !function.isLibrarys else { continue }
      guard function.isClosure else { return function.nameAlone }
      return frame.line.map { "line \($0.line)" } ?? "a closure"
    }
    return nil
  }

  /// Whether there is a line for any function of these.
  func knowsLines(of addresses: some Sequence<UInt>) -> Bool {
    addresses.contains { frames[$0]?.line != nil }
  }
}

extension FunctionName {
  /// Ours, the language's, and the test libraries'.
  private static let libraries: Set<String> = [
    "Swift", "_Concurrency", "Dispatch", "Foundation", "FoundationEssentials", "Synchronization",
    "Observation", "Testing", "_Testing_Foundation", "XCTest", "TimeoutTask", "ClocksTestKit",
    // The name under which this module was built.
    String(reflecting: FunctionName.self).split(separator: ".").first.map(String.init) ?? "Clocks",
  ]

  /// The name without the types, and without the function around it: `image(for:)`.
  var nameAlone: String {
    let name = text.split(separator: " ").first ?? ""
    let end = name.firstIndex(of: "(") ?? name.endIndex
    let start = name[..<end].lastIndex(of: ".").map { name.index(after: $0) } ?? name.startIndex
    return String(name[start...])
  }

  /// Whether the function is no user's: ours, or that of a library which every test has.
  var isLibrarys: Bool { module.isEmpty || Self.libraries.contains(module) }
}

@_silgen_name("swift_demangle")
private func demangle(
  _ name: UnsafePointer<CChar>?, _ length: UInt, _ buffer: UnsafeMutablePointer<CChar>?,
  _ size: UnsafeMutablePointer<UInt>?, _ flags: UInt32
) -> UnsafeMutablePointer<CChar>?

/// The name that a symbol stands for; the symbol itself if it is none of Swift's.
private func demangled(_ symbol: String) -> String {
  guard let name = demangle(symbol, UInt(symbol.utf8.count), nil, nil, 0) else {
    return symbol
  }
  defer { free(name) }
  return String(cString: name)
}
