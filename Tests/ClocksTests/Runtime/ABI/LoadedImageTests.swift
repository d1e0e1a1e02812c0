import Testing

@testable import Clocks

/// The images of this process.
@Suite struct LoadedImageTests {
  @Test func theRuntimeIsLoaded() throws {
    let images = LoadedImage.all
    #expect(images.count > 5)
    let runtime = try #require(LoadedImage.all(named: "libswift_Concurrency").first)
    #expect(runtime.path.hasSuffix(runtime.place))
    #expect(runtime.writableData.map(\.count).reduce(0, +) > 0)
  }

  #if os(Linux)
    @Test func codeBelongsToItsImage() throws {
      let symbol = try #require(RuntimeSymbol.address(of: "swift_task_getCurrent"))
      let image = try #require(CodeImages().image(of: UInt(bitPattern: symbol)))
      #expect(image.name == "libswift_Concurrency.so")
      #expect(image.range.contains(UInt(bitPattern: symbol)))
      let offset = UInt(bitPattern: symbol) - image.base
      #expect(SymbolTable(path: image.path)?.symbol(at: offset)?.contains("getCurrent") == true)
    }

    @Test func theProgramIsFirst() throws {
      let program = try #require(LoadedImage.all.first)
      #expect(program.path == "")
      let code = try #require(program.code.first)
      let image = try #require(CodeImages().image(of: code.lowerBound))
      #expect(image.path.hasPrefix("/"))
      #expect(CodeImages().image(of: 1) == nil)
    }

    @Test(
      arguments: [
        ("/a/ShopTests-test-runner", "ShopTests.so"), ("ShopTests-test-runner", "ShopTests.so"),
        ("/a/ShopPackageTests.xctest", nil), ("/a-test-runner/app", nil), ("", nil),
      ] as [(String, String?)])
    func aRunnerHasALibraryOfTests(_ program: String, _ library: String?) {
      #expect(LoadedImage.libraryOfTests(runBy: program) == library)
    }

    @Test func theDynamicSectionHasAbsoluteAddresses() throws {
      let runtime = try #require(LoadedImage.all(named: "libswift_Concurrency").first)
      let pointer = try #require(runtime.dynamicPointer(.names, to: CChar.self))
      let names = UInt(bitPattern: pointer)
      #expect(names > runtime.base)
      #expect(ProcessMemory.text(at: names) == "")
      #expect((runtime.dynamicValue(.relocationsSize) ?? 0) > 0)
      #expect((runtime.threadVariables?.count ?? 0) > 0)
    }
  #endif
}
