/// Why a test counts as one that never comes to rest.
enum Runaway: Sendable {
  case jobs(Int, task: UInt64 = 0)
  case wakes(Int)

  var description: String {
    switch self {
    case .jobs(let count, let task):
      """
      \(count) jobs have run without time moving, the last one of \
      \(task == 0 ? "an actor's queue" : "task #\(task)"). A task that yields in an endless loop \
      never comes to rest: let it sleep, or cancel it.
      """
    case .wakes(let count):
      """
      \(count) sleeps have woken. A task that sleeps in an endless loop never ends by itself: \
      cancel it, or advance by less.
      """
    }
  }
}
