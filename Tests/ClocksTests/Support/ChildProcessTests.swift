import TestTraits
import Testing

@Suite struct ChildProcessTests {
  @Test func aChildThatDoesNotEndIsKilledAndAnError() async {
    let error = await #expect(throws: HungChild.self) {
      try await ChildProcess.run(
        "/bin/sh", arguments: ["-c", "exec sleep 600"], limit: 0.5)
    }
    #expect(error?.description == "The child had not ended after 0.5 seconds:\n")
  }
}
