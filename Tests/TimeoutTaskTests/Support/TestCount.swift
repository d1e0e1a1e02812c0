#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How often the tests that look for rare faults try: 20,000 times, or as often as the environment
/// variable `TIMEOUT_TASK_TEST_COUNT` says. The full count is 1,000,000:
///
/// ```
/// TIMEOUT_TASK_TEST_COUNT=1000000 swift test -c release -Xswiftc -enable-testing \
///   --filter 'TimeoutTaskTests.(RaceTests|LeakTests)'
/// ```
func testCount() -> Int {
  ProcessInfo.processInfo.environment["TIMEOUT_TASK_TEST_COUNT"].flatMap(Int.init) ?? 20_000
}
