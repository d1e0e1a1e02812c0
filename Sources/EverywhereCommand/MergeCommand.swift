import Foundation

/// Makes one page of the reports that the shards of searches wrote.
struct MergeCommand {
  static let help = """
    usage: clocks-everywhere merge [--output FILE] FOLDER...

    Makes one page, in Markdown, of the JSON reports that explored tests have written into their
    CLOCKS_SCHEDULES_REPORTS, in these folders and the folders in them.

      --output FILE   write the page to a file, not to standard output

    Exits with 1 if a test has failed, or if the report of a shard is missing, cut off, damaged
    or lacks a test case, and with 66 if there is no report or a FOLDER is missing.
    """

  var output: String?
  var folders: [String] = []

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let argument = rest.first, argument != "--" {
      if argument == "--help" || argument == "-h" { throw Options.Problem.help(Self.help) }
      if argument.hasPrefix("-") {
        output = try Options.popOption(of: &rest, all: ["--output"]).value
      } else {
        folders.append(rest.removeFirst())
      }
    }
    folders += rest.dropFirst()
    guard !folders.isEmpty else {
      throw Options.Problem.wrong("merge needs a folder\n\(Self.help)")
    }
  }

  /// Returns the exit code.
  func run() throws -> Int32 {
    var merged = MergedSearches()
    var isAnyDamaged = false
    for folder in folders {
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder),
        isFolder.boolValue
      else {
        EverywhereCommand.fail("\(folder) is not a folder.")
        return 66
      }
      // The enumerator finds nothing in a link to a folder.
      let target = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
      let names = FileManager.default.enumerator(atPath: target)?.compactMap { $0 as? String } ?? []
      for name in names.sorted() where name.hasSuffix(".jsonl") {
        let path = "\(folder)/\(name)"
        do {
          try merged.add(Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
          EverywhereCommand.fail("\(path) is not a report of a search: \(error)")
          isAnyDamaged = true
        }
      }
    }
    guard !merged.isEmpty else {
      EverywhereCommand.fail(
        """
        there is no report in \(folders.joined(separator: ", ")). Explored tests write reports if \
        CLOCKS_SCHEDULES_REPORTS is a folder. Reports of earlier versions (.json) are not read.
        """)
      return 66
    }
    if let output {
      try merged.page.write(toFile: output, atomically: true, encoding: .utf8)
    } else {
      print(merged.page, terminator: "")
    }
    return merged.isGreen && !isAnyDamaged ? 0 : 1
  }
}
