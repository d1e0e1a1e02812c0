import Clocks
import Synchronization

/// A reader of a sequence. Its task notes the events and their times.
final class SequenceReader<Value: Sendable>: Sendable {
  enum Event: Sendable {
    case value(Value)
    case end
    case error(any Error)
  }

  private struct State {
    var events: [(time: Duration, event: Event)] = []
    /// Whether further events are ignored.
    var isClosed = false
  }

  private let state = Mutex(State())
  private let task = Mutex<Task<Void, Never>?>(nil)
  private let clock: TestClock<Duration>
  private let start: TestClock<Duration>.Instant

  /// Begins to read. The first value is requested when the current task suspends.
  ///
  /// - Parameter convert: Returns the value that is noted for an element.
  init<Elements: AsyncSequence & SendableMetatype>(
    _ elements: sending Elements, on clock: TestClock<Duration>, named name: String,
    convert: sending @escaping (Elements.Element) -> Value
  ) where Elements.AsyncIterator: SendableMetatype {
    self.clock = clock
    start = clock.now
    let work = read(elements, convert, name)
    task.withLock { $0 = work }
  }

  private func read<Elements: AsyncSequence & SendableMetatype>(
    _ elements: sending Elements, _ convert: sending @escaping (Elements.Element) -> Value,
    _ name: String
  ) -> Task<Void, Never> where Elements.AsyncIterator: SendableMetatype {
    Task(name: name) { [weak self] in
      do {
        for try await element in elements { self?.note(.value(convert(element))) }
        self?.note(.end)
      } catch {
        self?.note(.error(error))
      }
    }
  }

  deinit { task.withLock { $0 }?.cancel() }

  private func note(_ event: Event) {
    let time = start.duration(to: clock.now)
    state.withLock { state in
      guard !state.isClosed else { return }
      state.events.append((time, event))
    }
  }

  /// The events so far, with the times since the reader was made.
  var events: [(time: Duration, event: Event)] { state.withLock { $0.events } }

  var count: Int { state.withLock { $0.events.count } }

  func cancel() { task.withLock { $0 }?.cancel() }

  /// Cancels the task. Further events are ignored.
  func close() {
    state.withLock { $0.isClosed = true }
    cancel()
  }
}
