import ClocksSupport

/// The ways in which the door to the Swift runtime can be opened. Which of them there are is found
/// out when it is opened, by what the runtime has, and never by its version.
enum HookStrategy: String, CaseIterable, Sendable {
  /// Executors of ours take the places of the runtime's, through an interface that only programs
  /// built with the runtime's own module can use.
  case spi
  /// The same, through the function behind that interface, which is looked up by its name.
  case create
  /// The hooks; and the default executor is replaced where the runtime keeps it, which is searched
  /// for.
  case scan
  /// The same, but for runtimes without a hook for the main executor: its methods are replaced in
  /// their table.
  case table
  /// The runtime's hooks for jobs and delays, and nothing else.
  case hook
  /// The door stays shut.
  case none

  /// The way that this process is to try first.
  ///
  /// If it cannot be gone here, the next best one is: what came of it is measured afterwards.
  static var wanted: HookStrategy {
    if let name = Environment.door {
      guard let door = HookStrategy(rawValue: name) else { refuse(name) }
      return door
    }
    switch SchedulerCapability.highestAllowed {
    case .executors: return best
    case .enqueueHook: return .hook
    case .patience: return .none
    }
  }

  private static var best: HookStrategy {
    #if os(Linux) && compiler(>=6.3)
      return .spi
    #else
      return .scan
    #endif
  }

  /// Ends the process, because whoever set the variable wants to know at once.
  private static func refuse(_ name: String) -> Never {
    let names = allCases.map(\.rawValue).joined(separator: ", ")
    var text = "error: CLOCKS_DOOR is \"\(name)\", but can only be one of: \(names)\n"
    text.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    _exit(2)
  }
}
