#if os(Linux)
  import Foundation
  import Testing

  @testable import Clocks

  @Suite struct SymbolizerTests {
    /// `llvm-symbolizer` reads each place as a command that has the path in quotes.
    @Test(arguments: ["\"", "'"]) func aPathMayHaveQuotes(quote: String) throws {
      let function: @convention(c) () -> Void = {}
      let address = unsafeBitCast(function, to: UInt.self)
      let image = try #require(CodeImages().image(of: address))
      let folder = FileManager.default.temporaryDirectory.appending(path: "\(quote) \(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let link = folder.appending(path: image.name).path
      try FileManager.default.createSymbolicLink(
        atPath: link, withDestinationPath: image.path)

      let place = CodePlace(path: image.path, address: address - image.base)
      let linked = CodePlace(path: link, address: place.address)
      let meanings = Symbolizer.meanings(of: [place, linked])
      #expect(meanings?[linked]?.function == meanings?[place]?.function)
      #expect(meanings?[linked]?.line == meanings?[place]?.line)
    }

    @Test(
      .enabled(
        if: RuntimeSymbol.address(of: "posix_spawn_file_actions_addclosefrom_np") != nil,
        "This C library cannot close all files of a child process."))
    func theToolInheritsNoOpenFile() throws {
      var ends: [CInt] = [0, 0]
      try #require(pipe(&ends) == 0)
      defer { for end in ends { close(end) } }
      let list = "for end in \(ends[0]) \(ends[1]); do [ -e /proc/self/fd/$end ]; echo $?; done"
      #expect(Symbolizer.output(of: "/bin/sh", ["-c", list], lines: 2) == "1\n1\n")
    }
  }
#endif
