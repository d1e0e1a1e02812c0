import Clocks
import Testing
import TimeoutTask

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite struct TimeoutErrorTests {
  @Test func theDescriptionContainsWhatIsKnown() {
    #expect(TimeoutError().errorDescription == "The operation timed out.")
    #expect(
      TimeoutError(timeout: .seconds(3)).errorDescription
        == "The operation timed out. The time allowed was 3.0 seconds.")
    #expect(
      TimeoutError(operation: "load the feed").errorDescription
        == "The operation timed out. It was: load the feed.")
    #expect(
      TimeoutError(timeout: .milliseconds(1500), operation: "load the feed").errorDescription
        == "The operation timed out. The time allowed was 1.5 seconds. It was: load the feed.")
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .seconds(-Int64.max) * 4])
  func theDescriptionStatesThatThereWasNoTime(_ timeout: Duration) {
    #expect(
      TimeoutError(timeout: timeout, operation: "ask").errorDescription
        == "The operation timed out. There was no time left. It was: ask.")
    #expect(
      TimeoutError(timeout: Beats(count: -1)).errorDescription
        == "The operation timed out. There was no time left.")
  }

  @Test func anEmptyNameIsLeftOut() {
    #expect(TimeoutError(operation: "").errorDescription == "The operation timed out.")
  }

  @Test func theUnderlyingErrorIsInTheDescriptionForDevelopersOnly() {
    let error = TimeoutError(operation: "ask", underlyingError: Failure())
    #expect(error.errorDescription == "The operation timed out. It was: ask.")
    #expect(
      "\(error)" == "The operation timed out. It was: ask. It ended with: Failure()")
    #expect("\(TimeoutError(underlyingError: CancellationError()))" == "The operation timed out.")
    #expect(error == TimeoutError(operation: "ask"))
  }

  /// The operation ignores its cancellation, and throws later.
  @Test(arguments: [(10_000, "It went on for 7.0 seconds after its deadline. "), (3_300, "")])
  func theDescriptionStatesHowLongTheOperationWentOn(_ milliseconds: Int, _ text: String) async {
    let clock = TestClock()
    let task = Task {
      try await withTimeout(.seconds(3), clock: clock, name: "load") {
        await Task { try? await clock.sleep(for: .milliseconds(milliseconds)) }.value
        throw Failure()
      }
    }
    await clock.advance(by: .seconds(10))
    let expected = TimeoutError(timeout: .seconds(3), operation: "load")
    let error = await #expect(throws: expected) { try await task.value }
    let known = "The operation timed out. The time allowed was 3.0 seconds. It was: load."
    #expect(error?.errorDescription == known)
    #expect(error?.description == "\(known) \(text)It ended with: Failure()")
  }

  @Test func theErrorIsALocalizedErrorWithTheSameDescription() {
    let error: any Error = TimeoutError(timeout: .seconds(1))
    #expect((error as? any LocalizedError)?.errorDescription == "\(error)")
  }

  @Test func theErrorContainsTheTimeAndTheOperation() {
    let error = TimeoutError(timeout: .seconds(2), operation: "ask")
    #expect(error.timeout == .seconds(2))
    #expect(error.operation == "ask")
    #expect(error.allowed as? Duration == .seconds(2))
    #expect(TimeoutError(timeout: Beats(count: 3)).timeout == nil)
    #expect(TimeoutError(timeout: Beats(count: 3)).allowed as? Beats == Beats(count: 3))
  }

  @Test func equalErrorsAreEqual() {
    let errors = [
      TimeoutError(), TimeoutError(timeout: .seconds(1)), TimeoutError(timeout: .seconds(2)),
      TimeoutError(operation: "a"), TimeoutError(operation: "b"),
      TimeoutError(timeout: .seconds(1), operation: "a"),
      TimeoutError(timeout: Beats(count: 1)), TimeoutError(timeout: Beats(count: 2)),
    ]
    for (i, first) in errors.enumerated() {
      for (j, second) in errors.enumerated() { #expect((first == second) == (i == j)) }
    }
  }

  @Test func theErrorIsAMemberOfTheClass() async {
    let task = TimeoutTask(seconds: 0, name: "nothing") {}
    do {
      try await task.value
      Issue.record("The timeout should have passed.")
    } catch is TimeoutTask.TimeoutError {
    } catch {
      Issue.record(error)
    }
    await #expect(throws: TimeoutError(timeout: .zero, operation: "nothing")) {
      try await task.value
    }
  }
}
