import Testing

@testable import TimeoutTask

/// The phases of an interruptible operation, in one task.
@Suite struct InterruptibleOperationTests {
  @Test func anOperationIsInterruptedOnce() async {
    await Task {
      var operation = InterruptibleOperation()
      withUnsafeCurrentTask { task in
        let isTooLate = operation.begin(in: task)
        #expect(!isTooLate)
        let first = operation.interrupt(.deadlinePassed)
        let second = operation.interrupt(.deadlinePassed)
        let waiting = operation.cancelled()
        let third = operation.interrupt(.clockFailed(Failure()))
        #expect(first == task && second == nil && waiting == nil && third == nil)
      }
      let waits = operation.end()
      #expect(!waits)
      #expect(operation.interruption != nil)
    }.value
  }

  @Test func anInterruptionBeforeTheBeginningCancelsTheOperationThere() async {
    await Task {
      var operation = InterruptibleOperation()
      let task = operation.interrupt(.deadlinePassed)
      #expect(task == nil)
      let isInterrupted = withUnsafeCurrentTask { operation.begin(in: $0) }
      #expect(isInterrupted)
      let waits = operation.end()
      #expect(!waits)
    }.value
  }

  @Test func aCallerThatWasCancelledBeforeTheOperationBeganIsNotInterrupted() async {
    await Task {
      for isCancelled in [false, true] {
        var operation = InterruptibleOperation()
        withUnsafeCurrentTask { task in
          if isCancelled { task?.cancel() }
          operation.willBegin(for: task)
          let task = operation.interrupt(.deadlinePassed)
          #expect(task == nil)
        }
        #expect((operation.interruption == nil) == isCancelled)
      }
    }.value
  }

  @Test func anInterruptionAfterTheEndDoesNothing() async {
    await Task {
      var operation = InterruptibleOperation()
      withUnsafeCurrentTask { _ = operation.begin(in: $0) }
      let waits = operation.end()
      #expect(!waits)
      let task = operation.interrupt(.deadlinePassed)
      #expect(task == nil)
      #expect(operation.interruption == nil)
    }.value
  }

  @Test func aCancelledOperationIsNotInterrupted() async {
    await Task {
      var operation = InterruptibleOperation()
      withUnsafeCurrentTask { task in
        _ = operation.begin(in: task)
        task?.cancel()
        let task = operation.interrupt(.deadlinePassed)
        #expect(task == nil)
      }
      #expect(operation.interruption == nil && !operation.isPending)
    }.value
  }

  @Test func theEndWaitsForAConcurrentCancellation() async {
    await Task {
      var operation = InterruptibleOperation()
      withUnsafeCurrentTask { task in
        _ = operation.begin(in: task)
        let interrupted = operation.interrupt(.deadlinePassed)
        #expect(interrupted != nil)
      }
      let waits = operation.end()
      #expect(waits)
      await withUnsafeContinuation { continuation in
        let isWaiting = operation.wait(continuation)
        #expect(isWaiting)
        operation.cancelled()?.resume()
      }
      let waitsAgain = operation.end()
      #expect(!waitsAgain)
      await withUnsafeContinuation { continuation in
        let isWaiting = operation.wait(continuation)
        #expect(!isWaiting)
        continuation.resume()
      }
    }.value
  }
}
