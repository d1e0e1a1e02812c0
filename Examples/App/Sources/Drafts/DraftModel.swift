import Observation
import TimeoutTask

/// The model of a view in which a text is written, which is saved by itself.
@MainActor @Observable public final class DraftModel {
  /// What the view says about the text.
  public enum Status: Hashable, Sendable {
    case idle, waiting, saving, saved
    /// It takes longer than ten seconds, or does not work.
    case trouble
  }

  public private(set) var status = Status.idle
  public private(set) var text = ""

  @ObservationIgnored private let save: @Sendable (String) async throws -> Void
  @ObservationIgnored private var task: Task<Void, any Error>?

  /// - Parameter save: Keeps a text.
  public init(save: @escaping @Sendable (String) async throws -> Void) {
    self.save = save
  }

  /// Somebody has typed.
  public func type(_ text: String) {
    self.text = text
    status = .waiting
    task?.cancel()
    task = Task { [weak self] in
      try await Task.sleep(for: .milliseconds(800))
      try await self?.saveNow()
    }
  }

  private func saveNow() async throws {
    status = .saving
    do {
      try await withTimeout(.seconds(10)) { [save, text] in try await save(text) }
      try Task.checkCancellation()
      status = .saved
      try await Task.sleep(for: .seconds(3))
      status = .idle
    } catch is CancellationError {
      // Somebody has typed, and that task goes on.
      throw CancellationError()
    } catch {
      status = .trouble
    }
  }
}
