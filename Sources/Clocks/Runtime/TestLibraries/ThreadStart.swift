import ClocksSupport

#if os(Linux) && canImport(Glibc)
  /// The function that a new thread runs, and the counts that end with the thread.
  ///
  /// After `pthread_exit`, which is `Thread.exit()`, none of the thread's functions returns. Then the destructor of a
  /// thread key ends what a return would have ended.
  final class ThreadStart {
    typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?

    private let function: Function
    private let argument: UnsafeMutableRawPointer?
    private let test: TestThread?
    /// The waits of a thread that a test started.
    private var waits: ThreadWaits?

    private init(
      _ function: @escaping Function, _ argument: UnsafeMutableRawPointer?, _ test: TestThread?
    ) {
      (self.function, self.argument, self.test) = (function, argument, test)
    }

    /// Counts a thread and creates it by `create`, to which a function and its argument are passed.
    ///
    /// - Parameter test: `nil` if no test starts the thread.
    static func createThread(
      of test: TestThread?, _ function: @escaping Function, _ argument: UnsafeMutableRawPointer?,
      by create: (@escaping Function, UnsafeMutableRawPointer?) -> CInt
    ) -> CInt {
      OutsideWork.begins()
      let start = Unmanaged.passRetained(ThreadStart(function, argument, test))
      let result = create({ ThreadStart.threadBegins($0) }, start.toOpaque())
      if result != 0 {
        start.release()
        test?.end()
        OutsideWork.ends()
      }
      return result
    }

    private static let key: ThreadKey = makeThreadKey { ThreadStart.threadEnds($0) }

    /// - Parameter pointer: A retained `ThreadStart`.
    private static func threadBegins(
      _ pointer: UnsafeMutableRawPointer?
    ) -> UnsafeMutableRawPointer? {
      guard let pointer else { return nil }
      setThreadValue(key, pointer)
      let result = Unmanaged<ThreadStart>.fromOpaque(pointer).takeUnretainedValue().run()
      setThreadValue(key, nil)
      threadEnds(pointer)
      return result
    }

    private static func threadEnds(_ pointer: UnsafeMutableRawPointer?) {
      guard let pointer else { return }
      Unmanaged<ThreadStart>.fromOpaque(pointer).takeRetainedValue().end()
    }

    private func run() -> UnsafeMutableRawPointer? {
      guard let test else {
        OutsideWork.setOutside(true)
        return function(argument)
      }
      let waits = test.begin()
      self.waits = waits
      var context = ThreadContext(
        owner: waits.owner, isInJob: true, isOnQueue: true, waits: waits)
      var result: UnsafeMutableRawPointer?
      context.run { _ in result = function(argument) }
      return result
    }

    private func end() {
      // After `pthread_exit`, the frame of the context is gone. The state may already be freed by its own destructor.
      ThreadState.existing?.pointee.context = nil
      if let waits { waits.testThreadEnds() } else { OutsideWork.setOutside(false) }
      OutsideWork.ends()
    }
  }
#endif
