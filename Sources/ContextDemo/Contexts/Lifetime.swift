/// Keeps something going for as long as somebody holds on to it.
final class Lifetime: @unchecked Sendable {
  /// What is cancelled at the end; set once, before anyone else knows the lifetime.
  var task: Task<Void, Never>?

  deinit { task?.cancel() }
}
