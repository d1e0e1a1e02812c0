/// The place in a program that a failure is about: the call a test's author can see and change.
///
/// A public function takes the four values as defaulted parameters, makes one `CallSite` of them
/// and passes that down, so that a failure found deep inside still points at the author's own line.
package struct CallSite: Sendable {
  package var fileID: StaticString
  package var filePath: StaticString
  package var line: UInt
  package var column: UInt

  package init(
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
