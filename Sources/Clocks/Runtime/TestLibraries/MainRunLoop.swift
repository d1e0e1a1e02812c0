import ClocksSupport
import Synchronization

/// Foundation's run loops: `run` uses the current thread's run loop, `hasTimer(after:)` the main thread's.
enum MainRunLoop {
  private typealias Run = @convention(c) (UnsafeRawPointer?, Double, Bool) -> Int32
  private typealias Get = @convention(c) () -> UnsafeRawPointer?
  private typealias GetTimer = @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?) -> Double

  private static let run = RuntimeSymbol.function("CFRunLoopRunInMode", as: Run.self)
  private static let main = RuntimeSymbol.function("CFRunLoopGetMain", as: Get.self)
  private static let current = RuntimeSymbol.function("CFRunLoopGetCurrent", as: Get.self)
  private static let timer = RuntimeSymbol.function(
    "CFRunLoopGetNextTimerFireDate", as: GetTimer.self)
  nonisolated(unsafe) private static let mode = RuntimeSymbol.address(of: "kCFRunLoopDefaultMode")?
    .load(as: UnsafeRawPointer.self)

  /// Runs the current thread's run loop. Returns why it ended, as a `CFRunLoopRunResult`.
  @discardableResult
  static func run(seconds: Double, returnsAfterOneSource: Bool = true) -> Int32 {
    run?(mode, seconds, returnsAfterOneSource) ?? finished
  }

  /// `kCFRunLoopRunFinished`, `…Stopped`, `…TimedOut` and `…HandledSource`.
  static let (finished, stopped, timedOut, handledSource) = (Int32(1), Int32(2), Int32(3), Int32(4))

  static var ofThread: UnsafeRawPointer? { current?() }

  static func isMain(_ runLoop: UnsafeRawPointer?) -> Bool { runLoop == main?() }

  /// Descriptions of the waits that are not seen because a function of run loops was not found.
  static var missing: [String] {
    let lost = [
      ("CFRunLoopRunInMode", run == nil), ("CFRunLoopGetMain", main == nil),
      ("CFRunLoopGetCurrent", current == nil), ("CFRunLoopGetNextTimerFireDate", timer == nil),
      ("kCFRunLoopDefaultMode", mode == nil), ("CFRunLoopSourceSignal", signal == nil),
      ("CFRunLoopWakeUp", wakeUp == nil), ("CFRunLoopAddSource", add == nil),
      ("CFRunLoopRemoveSource", remove == nil), ("CFRunLoopSourceCreate", create == nil),
    ].filter(\.1).map(\.0)
    return lost.isEmpty ? [] : ["waits in run loops (\(lost.joined(separator: ", ")))"]
  }

  /// Whether the main run loop has a timer that fires later than a date, in seconds since 2001.
  static func hasTimer(after date: Double) -> Bool {
    guard let main, let timer else { return false }
    return timer(main(), mode) > date
  }

  /// How many blocks were passed to run loops.
  static let passedBlocks = Atomic(0)

  // MARK: - Interrupting

  private typealias CreateSource =
    @convention(c) (UnsafeRawPointer?, Int, UnsafeRawPointer) -> UnsafeRawPointer?
  private typealias UseSource =
    @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?) -> Void
  private typealias UseOne = @convention(c) (UnsafeRawPointer?) -> Void

  private static let signal = RuntimeSymbol.function("CFRunLoopSourceSignal", as: UseOne.self)
  private static let wakeUp = RuntimeSymbol.function("CFRunLoopWakeUp", as: UseOne.self)

  private static let add = RuntimeSymbol.function("CFRunLoopAddSource", as: UseSource.self)
  private static let remove = RuntimeSymbol.function("CFRunLoopRemoveSource", as: UseSource.self)

  private static let create = RuntimeSymbol.function(
    "CFRunLoopSourceCreate", as: CreateSource.self)

  /// A source whose handler does nothing. Signalling it ends a run of a run loop that handles one source.
  nonisolated(unsafe) private static let source: UnsafeRawPointer? = {
    guard let create else { return nil }
    let handler: @convention(c) (UnsafeMutableRawPointer?) -> Void = { _ in }
    // `CFRunLoopSourceContext`: nine words that may be zero, and the handler.
    var context = [Int](repeating: 0, count: 9) + [unsafeBitCast(handler, to: Int.self)]
    return create(nil, 0, &context)
  }()

  /// How many waits of the main thread may be interrupted. Only that thread uses this.
  nonisolated(unsafe) private static var interruptible = 0

  /// Lets `interrupt` end a run of the main run loop, until `endInterruptible`. Without a source, a run does not wait.
  static func beginInterruptible() {
    interruptible += 1
    if interruptible == 1 { add?(main?(), source, mode) }
  }

  static func endInterruptible() {
    interruptible -= 1
    if interruptible == 0 { remove?(main?(), source, mode) }
  }

  /// Keeps `interrupt` from ending a run that the test begins within a wait. Returns the argument for
  /// `allowInterrupts`.
  ///
  /// Without the source, the run also ends when the run loop has nothing left to wait for, as in real time.
  static func preventInterrupts() -> Int {
    defer { interruptible = 0 }
    if interruptible > 0 { remove?(main?(), source, mode) }
    return interruptible
  }

  static func allowInterrupts(_ count: Int) {
    guard count > 0 else { return }
    if interruptible == 0 { add?(main?(), source, mode) }
    interruptible += count
  }

  /// Ends the current run of the main run loop; if there is none, the next one, on which a stop would have no effect.
  static func interrupt() {
    guard let source, let main = main?() else { return }
    signal?(source)
    wakeUp?(main)
  }
}
