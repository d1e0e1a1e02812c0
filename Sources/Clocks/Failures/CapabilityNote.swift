/// The note that each failure carries in a process in which not everything of a test can be seen.
enum CapabilityNote {
  /// The note of this process; `nil` if everything is seen, or the hooks are not installed yet.
  static var ofThisProcess: String? { RuntimeHooks.knownSelfTest.flatMap(note) }

  static func note(_ selfTest: SchedulingSelfTest) -> String? {
    guard !selfTest.missing.isEmpty else { return nil }
    return """
      Note: this process has the capability \(selfTest.capability) (hook strategy \
      \(selfTest.strategy)), so a test clock cannot see: \
      \(selfTest.missing.joined(separator: ", ")). A test that uses what is not seen may fail for \
      that reason alone.
      """
  }
}

extension String {
  /// The text of a failure, with the note of this process if it has one.
  var withCapabilityNote: String {
    guard let note = CapabilityNote.ofThisProcess else { return self }
    return self + "\n" + note
  }
}
