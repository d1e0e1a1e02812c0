/// The executable and the libraries of this process, as far as they hold code.
///
/// Taken at one moment: what is loaded later is not in it.
struct CodeImages: Sendable {
  /// A stretch of a file in memory that may be executed.
  struct Stretch: Sendable {
    var range: Range<UInt>
    /// Where in the file the stretch begins.
    var offset: UInt
    var path: String
  }

  /// In the order of their addresses.
  private let stretches: [Stretch]

  /// Those that are loaded now. O(stretches of memory), some hundred.
  init() {
    #if os(Linux)
      stretches = SystemFile.text("/proc/self/maps").split(separator: "\n").compactMap(Self.stretch)
    #else
      stretches = []
    #endif
  }

  /// The stretch in which an address is; `nil` if there is no code. O(log n).
  func stretch(of address: UInt) -> Stretch? {
    var lower = 0
    var upper = stretches.count
    while lower < upper {
      let middle = (lower + upper) / 2
      if stretches[middle].range.upperBound <= address {
        lower = middle + 1
      } else {
        upper = middle
      }
    }
    guard lower < stretches.count, stretches[lower].range.contains(address) else { return nil }
    return stretches[lower]
  }

  /// The path of the first image whose file has this name.
  func path(ofFileBeginningWith name: String) -> String? {
    stretches.first { $0.path.split(separator: "/").last?.hasPrefix(name) == true }?.path
  }

  /// For example `7f0c2000-7f0c3000 r-xp 00001000 08:01 1234   /usr/lib/libc.so.6`.
  private static func stretch(_ line: Substring) -> Stretch? {
    let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
    guard fields.count == 6, fields[1].dropFirst(2).first == "x" else { return nil }
    let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
    guard ends.count == 2, ends[0] < ends[1], let offset = UInt(fields[2], radix: 16) else {
      return nil
    }
    let path = fields[5].drop { $0 == " " }
    guard path.first == "/" else { return nil }
    return Stretch(range: ends[0]..<ends[1], offset: offset, path: String(path))
  }
}
