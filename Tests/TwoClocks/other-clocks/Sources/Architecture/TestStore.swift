public import Dependencies

/// What an action starts: work that sends further actions.
public struct Effect<Action: Sendable>: Sendable {
  fileprivate let run: (@Sendable (@Sendable (Action) -> Void) async throws -> Void)?

  public static var none: Self { Self(run: nil) }

  public static func run(
    _ work: @escaping @Sendable (_ send: @Sendable (Action) -> Void) async throws -> Void
  ) -> Self { Self(run: work) }
}

public protocol Reducer<State, Action> {
  associatedtype State: Equatable
  associatedtype Action: Equatable, Sendable

  func reduce(into state: inout State, action: Action) -> Effect<Action>
}

/// Runs a reducer in a test, which states each change of the state and receives each action of an effect.
@MainActor
public final class TestStore<State: Equatable, Action: Equatable & Sendable> {
  public private(set) var state: State
  private let reducer: any Reducer<State, Action>
  private let received: AsyncStream<Action>
  private let send: AsyncStream<Action>.Continuation
  private var effects: [Task<Void, Never>] = []

  public init(
    initialState: State, reducer: () -> some Reducer<State, Action>,
    withDependencies change: (inout DependencyValues) -> Void
  ) {
    state = initialState
    self.reducer = withDependencies(change) { reducer() }
    (received, send) = AsyncStream.makeStream()
  }

  public func send(_ action: Action, assert change: (inout State) -> Void = { _ in }) {
    var expected = state
    change(&expected)
    apply(action)
    precondition(state == expected, "\(state) is not \(expected) after \(action)")
  }

  /// Waits for the next action that an effect sends.
  public func receive(_ action: Action, assert change: (inout State) -> Void = { _ in }) async {
    var actions = received.makeAsyncIterator()
    let next = await actions.next(isolation: #isolation)
    precondition(next == action, "\(next.map { "\($0)" } ?? "nothing") is not \(action)")
    send(action, assert: change)
  }

  /// Waits for the effects.
  public func finish() async {
    for effect in effects { await effect.value }
  }

  private func apply(_ action: Action) {
    guard let run = reducer.reduce(into: &state, action: action).run else { return }
    let send = send
    effects.append(Task { try? await run { send.yield($0) } })
  }
}
