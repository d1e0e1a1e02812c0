import ClocksTestKit
import Drafts
import Testing

/// The model has no injected clock: each test runs in virtual time.
@MainActor @Suite(.virtualTime) struct DraftModelTests {
  private actor Disk {
    private(set) var texts: [String] = []
    private let delay: Duration

    init(delay: Duration = .zero) { self.delay = delay }

    func save(_ text: String) async throws {
      try await Task.sleep(for: delay)
      texts.append(text)
    }
  }

  @Test func savesAfterAPauseInTyping() async throws {
    let disk = Disk()
    let model = DraftModel { try await disk.save($0) }
    for text in ["D", "De", "Dear"] {
      model.type(text)
      try await Task.sleep(for: .milliseconds(500))
      #expect(model.status == .waiting)
    }
    #expect(await disk.texts == [])
    try await Task.sleep(for: .milliseconds(301))
    #expect(await disk.texts == ["Dear"])
  }

  @Test func showsSavedForThreeSeconds() async throws {
    let model = DraftModel { _ in try await Task.sleep(for: .seconds(2)) }
    #expect(model.status == .idle)
    model.type("Dear")
    #expect(model.status == .waiting)
    try await Task.sleep(for: .milliseconds(801))
    #expect(model.status == .saving)
    try await Task.sleep(for: .seconds(2))
    #expect(model.status == .saved)
    try await Task.sleep(for: .milliseconds(2_999))
    #expect(model.status == .idle)
  }

  @Test func failsWhenSavingTakesTooLong() async throws {
    let disk = Disk(delay: .seconds(60))
    let model = DraftModel { try await disk.save($0) }
    model.type("Dear")
    try await Task.sleep(for: .milliseconds(10_799))
    #expect(model.status == .saving)
    try await Task.sleep(for: .milliseconds(2))
    #expect(model.status == .failed)
    try await Task.sleep(for: .seconds(60))
    #expect(await disk.texts == [])
  }

  @Test func typingDuringASaveSavesTheNewText() async throws {
    let disk = Disk(delay: .seconds(2))
    let model = DraftModel { try await disk.save($0) }
    model.type("Dear")
    try await Task.sleep(for: .seconds(1))
    model.type("Dear all")
    try await Task.sleep(for: .seconds(3))
    #expect(await disk.texts == ["Dear all"])
    #expect(model.status == .saved)
  }

  @Test func aSaveThatIgnoresItsCancellationDoesNotOverwriteANewerText() async throws {
    let disk = Disk()
    let model = DraftModel { text in
      // Cancelling the save does not cancel this task.
      let write = Task {
        try await Task.sleep(for: .seconds(text == "Dear" ? 5 : 0))
        try await disk.save(text)
      }
      try await write.value
    }
    for text in ["Dear", "Dear a", "Dear all"] {
      model.type(text)
      try await Task.sleep(for: .seconds(1))
    }
    try await Task.sleep(for: .seconds(10))
    #expect(await disk.texts == ["Dear", "Dear all"])
  }

  private struct NoDiskError: Error {}

  @Test func aCancelledSaveThatFailsDoesNotChangeTheStatus() async throws {
    let model = DraftModel { _ in
      do { try await Task.sleep(for: .seconds(2)) } catch { throw NoDiskError() }
    }
    model.type("Dear")
    try await Task.sleep(for: .seconds(1))
    #expect(model.status == .saving)
    model.type("Dear all")
    try await Task.sleep(for: .milliseconds(1))
    #expect(model.status == .waiting)
  }

  @Test func aSaveThatEndsWithACancellationErrorHasFailed() async throws {
    let model = DraftModel { _ in throw CancellationError() }
    model.type("Dear")
    try await Task.sleep(for: .seconds(1))
    #expect(model.status == .failed)
  }
}
