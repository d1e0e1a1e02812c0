import Clocks
import ClocksSupport

/// A reader of a sequence. Its task notes the events and their times.
final class SequenceReader<Value: Sendable>: Sendable {
  enum Event: Sendable {
    case value(Value)
    case end
    case error(any Error)
  }

  /// An event, and the time since the reader was made.
  typealias TimedEvent = (time: Duration, event: Event)

  private struct State {
    var events: [TimedEvent] = []
    /// The number of events that preceded the first cancellation; `nil` before it.
    var countAtCancellation: Int?
    var isClosed = false
    var task: Task<Void, Never>?
  }

  private let lock = Lock(.leaf)
  /// Guarded by `lock`.
  nonisolated(unsafe) private var state = State()
  let clock: TestClock<Duration>
  private let start: TestClock<Duration>.Instant

  init(on clock: TestClock<Duration>) {
    self.clock = clock
    start = clock.now
  }

  /// Begins to read. The first value is requested when the current task suspends.
  ///
  /// - Parameter convert: Returns the value that is noted for an element.
  func read<Elements: AsyncSequence & SendableMetatype>(
    _ elements: sending Elements, named name: String,
    convert: sending @escaping (Elements.Element) -> Value
  ) where Elements.AsyncIterator: SendableMetatype {
    let work = Task(name: name) { [weak self] in
      do {
        for try await element in elements { self?.note(.value(convert(element))) }
        self?.note(.end)
      } catch {
        self?.note(.error(error))
      }
    }
    lock.withLock { state.task = work }
  }

  deinit { lock.withLock { state.task }?.cancel() }

  /// Returns the time of an event that comes exactly at the end of a limit that begins now.
  func end(of limit: Duration) -> Duration { start.duration(to: clock.now.advanced(by: limit)) }

  private func note(_ event: Event) {
    let time = start.duration(to: clock.now)
    lock.withLock {
      guard !state.isClosed else { return }
      state.events.append((time, event))
    }
  }

  var events: [TimedEvent] { lock.withLock { state.events } }

  var countAtCancellation: Int? { lock.withLock { state.countAtCancellation } }

  func cancel() {
    let task = lock.withLock {
      state.countAtCancellation = state.countAtCancellation ?? state.events.count
      return state.task
    }
    task?.cancel()
  }

  /// Cancels the task. Further events are ignored.
  func close() {
    lock.withLock { state.isClosed = true }
    cancel()
  }
}
