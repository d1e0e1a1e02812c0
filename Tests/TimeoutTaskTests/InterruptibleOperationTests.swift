import Testing

@testable import TimeoutTask

/// The states of an operation that a deadline may cancel, without any task or thread but one's own.
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

  @Test func anInterruptionBeforeTheBeginningIsHeardThere() async {
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

  @Test func whoeverIsCancelledBeforeTheBeginningIsNotInterrupted() async {
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

  @Test func anInterruptionAfterTheEndIsNone() async {
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

  @Test func whoeverIsCancelledAlreadyIsNotInterrupted() async {
    await Task {
      var operation = InterruptibleOperation()
      withUnsafeCurrentTask { task in
        _ = operation.begin(in: task)
        task?.cancel()
        let task = operation.interrupt(.deadlinePassed)
        #expect(task == nil)
      }
      #expect(operation.interruption == nil)
    }.value
  }

  @Test func theEndWaitsForACancellationThatIsUnderWay() async {
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
