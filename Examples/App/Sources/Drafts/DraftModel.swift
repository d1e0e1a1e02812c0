import Observation
import TimeoutTask

/// The model of a text editor that saves automatically.
@MainActor @Observable public final class DraftModel {
  /// The state that the view shows.
  public enum Status: Hashable, Sendable {
    case idle, waiting, saving, saved
    /// Saving has failed, or has taken longer than ten seconds.
    case failed
  }

  public private(set) var status = Status.idle
  public private(set) var text = ""

  @ObservationIgnored private let save: @Sendable (String) async throws -> Void
  @ObservationIgnored private var task: Task<Void, any Error>?

  /// Creates an empty draft.
  ///
  /// - Parameter save: Stores a text.
  public init(save: @escaping @Sendable (String) async throws -> Void) {
    self.save = save
  }

  /// Updates the text and saves it after 800 ms without another update.
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
      // A later update has cancelled this task and set the status.
      throw CancellationError()
    } catch {
      status = .failed
    }
  }
}
