#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How often the tests that look for rare faults try: 20,000 times, or as often as the environment
/// variable `TIMEOUT_TASK_TEST_COUNT` says. The full count is 1,000,000.
func testCount() -> Int {
  ProcessInfo.processInfo.environment["TIMEOUT_TASK_TEST_COUNT"].flatMap(Int.init) ?? 20_000
}
