#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Returns the number of attempts of the tests for rare faults.
///
/// 5,000, or the value of the environment variable `TIMEOUT_TASK_TEST_COUNT`. The full count is
/// 1,000,000:
///
/// ```
/// TIMEOUT_TASK_TEST_COUNT=1000000 swift test -c release -Xswiftc -enable-testing \
///   --filter TimeoutTaskTests
/// ```
func testCount() -> Int {
  ProcessInfo.processInfo.environment["TIMEOUT_TASK_TEST_COUNT"].flatMap(Int.init) ?? 5_000
}
