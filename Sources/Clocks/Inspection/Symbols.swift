import ClocksSupport

struct Frame: Hashable, Sendable {
  /// `nil` if the file with the code has no name for the function.
  var function: FunctionName?
  var image: String
  var line: SourceLine?
}

/// The functions and lines at addresses of code. They are looked up only when a text names them.
struct Symbols {
  private(set) var frames: [UInt: Frame] = [:]
  private(set) var lacksTool = false
  /// The file that has the most lines, if there are several files. `lineAndPlace` names the file only for other lines.
  private(set) var commonFile: SourceLine?

  /// Looks up addresses. A process looks up each address once: results stay valid, as libraries are rarely unloaded.
  ///
  /// O(size of the debug information), some 100 ms for a large test bundle.
  init(of addresses: some Sequence<UInt>, in images: CodeImages) {
    (frames, lacksTool) = Self.lock.withLock { Self.known }
    lookUp(Set(addresses).filter { frames[$0] == nil }, images, usesTool: true)
    let found = self
    Self.lock.withLock {
      Self.known.frames.merge(found.frames) { $1 }
      Self.known.lacksTool = Self.known.lacksTool || found.lacksTool
    }
  }

  /// Looks up addresses in the symbol tables of the images, which have no line numbers.
  init(withoutTool addresses: some Sequence<UInt>, in images: CodeImages) {
    lookUp(Set(addresses), images, usesTool: false)
  }

  private static let lock = Lock(.leaf)
  /// The results in this process so far. Guarded by the lock.
  nonisolated(unsafe) private static var known: (frames: [UInt: Frame], lacksTool: Bool) =
    ([:], false)

  private mutating func lookUp(_ addresses: Set<UInt>, _ images: CodeImages, usesTool: Bool) {
    var places: [UInt: CodePlace] = [:]
    for address in addresses {
      guard let image = images.image(of: address) else { continue }
      frames[address] = Frame(image: image.name)
      places[address] = CodePlace(path: image.path, address: address - image.base)
    }
    guard !places.isEmpty else { return }
    if usesTool, let meanings = Symbolizer.meanings(of: Array(Set(places.values))) {
      for (address, place) in places {
        frames[address]?.function = meanings[place]?.function
        frames[address]?.line = meanings[place]?.line
      }
      return
    }
    lacksTool = true
    for (path, places) in Dictionary(grouping: places, by: \.value.path) {
      let table = SymbolTable(path: path)
      for (address, place) in places {
        frames[address]?.function = table?.symbol(at: place.address).map { FunctionName($0) }
      }
    }
  }

  /// The name and the line of the user's innermost function; `nil` if none is known. A closure has no name.
  private func innermost(_ functions: [UInt]) -> (name: String?, line: SourceLine?)? {
    for case let frame? in functions.map({ frames[$0] }) {
      guard let function = frame.function, function.isOfUser else { continue }
      return (function.isClosure ? nil : function.nameAlone, frame.line)
    }
    return nil
  }

  /// Makes `lineAndPlace` and `placeWithLine` name files if the user's innermost functions are in more than one.
  mutating func nameFiles(ifSeveral stacks: some Sequence<[UInt]>) {
    let files = Dictionary(grouping: stacks.compactMap { innermost($0)?.line }, by: \.path)
    let common = files.max { ($0.value.count, $1.key) < ($1.value.count, $0.key) }
    commonFile = files.count > 1 ? common?.value.first : nil
  }

  /// The name of the user's innermost function, or the line of a closure; `nil` if not known.
  func place(of functions: [UInt]) -> String? {
    innermost(functions).map { name, line in name ?? line.map { "line \($0.line)" } ?? "a closure" }
  }

  /// The line and the name of the user's innermost function, for example `line 20 image(for:)` or
  /// `line 20 Cache.swift image(for:)`; `nil` if not known.
  ///
  /// The line comes first, so that it remains if the text is cut.
  func lineAndPlace(of functions: [UInt]) -> String? {
    innermost(functions).map { name, line in
      let isCommon = commonFile == nil || commonFile?.path == line?.path
      let file = isCommon ? nil : line.map { String($0.file) }
      let words = [line.map { "line \($0.line)" }, file, name].compactMap(\.self)
      return words.isEmpty ? "a closure" : words.joined(separator: " ")
    }
  }

  /// The place of the user's innermost function, for example ` at line 20`, ` in image(for:), line 20` or
  /// ` in image(for:), Cache.swift:20`.
  func placeWithLine(of functions: [UInt]) -> String? {
    guard let (name, line) = innermost(functions) else { return nil }
    let place = line.map {
      commonFile == nil ? "line \($0.line)" : "\($0.file):\($0.line)"
    }
    guard let name else { return place.map { " at " + $0 } }
    return " in " + name + (place.map { ", " + $0 } ?? "")
  }
}

extension FunctionName {
  /// The modules of this package, of the language and of the test libraries.
  private static let libraries: Set<String> = [
    "Swift", "_Concurrency", "Dispatch", "Foundation", "FoundationEssentials", "Synchronization",
    "Observation", "Testing", "_Testing_Foundation", "XCTest", "TimeoutTask", "ClocksCore",
    "ClocksTestKit", "ClocksSupport", "ClocksSearch", "ClocksDrawing", "ClocksEverywhere",
    // The name under which this module was built.
    String(reflecting: FunctionName.self).split(separator: ".").first.map(String.init) ?? "Clocks",
  ]

  /// Whether the function is neither from this package nor from a library that every test has.
  var isOfUser: Bool { !isThunk && !module.isEmpty && !Self.libraries.contains(module) }
}
