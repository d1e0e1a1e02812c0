/// What is added to a failure if time has jumped while a task may have waited for work outside its scope.
enum SkippedWaitNote {
  /// For a task of which it is certain.
  static func certain(_ task: String, slept jump: Duration, to end: Duration) -> String {
    """
    Time jumped \(jump), to \(end), while \(task) waited for work outside the scope, a socket or a \
    thread: nothing of the test could run. Put that work into `time.holding { … }`.
    """
  }

  /// For tasks that may wait for anything.
  static func possible(_ tasks: [String], slept jump: Duration, to end: Duration) -> String {
    let shown = tasks.count > 3 ? tasks.prefix(3) + ["\(tasks.count - 3) more"] : tasks[...]
    return """
      Time jumped \(jump), to \(end), because nothing of the test could run. If it waited for real \
      work, a socket or a thread, put that into `time.holding { … }`. Waiting for a continuation since \
      before: \(shown.joined(separator: ", ")).
      """
  }
}
