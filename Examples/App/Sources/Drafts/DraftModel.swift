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
    task = Task { [weak self, last = task] in
      // A save that ignores its cancellation ends first, so that it does not overwrite a newer text.
      _ = await last?.result
      try await Task.sleep(for: .milliseconds(800))
      await self?.saveNow()
    }
  }

  private func saveNow() async {
    show(.saving)
    do {
      try await withTimeout(.seconds(10)) { [save, text] in try await save(text) }
      show(.saved)
      try await Task.sleep(for: .seconds(3))
      show(.idle)
    } catch {
      show(.failed)
    }
  }

  /// Changes the status, unless a later update has cancelled this task: that update has set the status.
  private func show(_ status: Status) {
    if !Task.isCancelled { self.status = status }
  }
}
