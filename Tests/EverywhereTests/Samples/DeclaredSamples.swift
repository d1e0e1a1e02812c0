#if os(Linux) && compiler(>=6.3)
  import Testing

  // The expansion of `@Test`, but without the trait that this package adds to tests. So the package does not notice the
  // test, as if a function that it does not know had declared it.
  @section("swift5_tests") @used
  private let declaration:
    (
      kind: UInt32, reserved1: UInt32,
      accessor:
        @convention(c) (
          UnsafeMutableRawPointer, UnsafeRawPointer, UnsafeRawPointer?, UInt
        ) -> CBool,
      context: UInt, reserved2: UInt
    ) = (
      0x7465_7374, 0,
      { place, expectedType, _, _ in
        Test.__store(
          {
            var test = Test.__function(
              named: "declaredByHand()", in: nil as Never.Type?, xcTestCompatibleSelector: nil,
              traits: [.enabled(if: runsSamples)],
              sourceLocation: SourceLocation(
                fileID: #fileID, filePath: #filePath, line: #line, column: #column),
              testFunction: { #expect(Test.Case.current != nil) })
            test.traits.removeAll { "\(type(of: $0))" == "EverywhereTrait" }
            return test
          }, into: place, asTypeAt: expectedType)
      },
      0, 0
    )
#endif
