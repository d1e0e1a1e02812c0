// An executable with executors of its own, which makes a test clock.

import Clocks

#if compiler(>=6.3)
  @_spi(ExperimentalCustomExecutors) import _Concurrency

  struct Factory: ExecutorFactory {
    static var mainExecutor: any MainExecutor {
      print("the factory makes the main executor")
      return PlatformExecutorFactory.mainExecutor
    }

    static var defaultExecutor: any TaskExecutor {
      print("the factory makes the default executor")
      return Pool()
    }
  }

  final class Pool: TaskExecutor {
    private let platform = PlatformExecutorFactory.defaultExecutor

    func enqueue(_ job: consuming ExecutorJob) { platform.enqueue(job) }
  }

  typealias DefaultExecutorFactory = Factory
#endif

actor Counter {
  var count = 0
  func increment() { count += 1 }
}

@main struct FactoryApp {
  static func main() async {
    let counter = Counter()
    await Task.detached { await counter.increment() }.value
    print("clocks: \(SchedulerCapability.selfTest)")
    let clock = TestClock()
    for _ in 0..<100 {
      Task {
        try await clock.sleep(for: .seconds(1))
        await MainActor.run {}
        await counter.increment()
      }
    }
    await clock.advance(by: .seconds(1))
    print("after a second: \(await counter.count)")
  }
}
