/// The place in a program that a failure is about: the call a test's author can see and change.
///
/// A public function takes the four values as defaulted parameters, makes one `CallSite` of them
/// and passes that down, so that a failure found deep inside still points at the author's own line.
@_spi(TestKit) public struct CallSite: Sendable {
  var fileID: StaticString
  var filePath: StaticString
  var line: UInt
  var column: UInt

  public init(
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    self.fileID = fileID
    self.filePath = filePath
    self.line = line
    self.column = column
  }
}
