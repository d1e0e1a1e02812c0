import Foundation
import Synchronization
import XCTest

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Answers requests without a network, after the milliseconds in the path.
private final class Stub: URLProtocol {
  override class func canInit(with request: URLRequest) -> Bool { true }
  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    let delay = Double(request.url!.lastPathComponent)! / 1_000
    if delay == 0 { return answer() }
    nonisolated(unsafe) let stub = self
    DispatchQueue.global().asyncAfter(deadline: .now() + delay) { stub.answer() }
  }

  override func stopLoading() {}

  private func answer() {
    let response = HTTPURLResponse(
      url: request.url!, statusCode: 200, httpVersion: nil, headerFields: nil)!
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    client?.urlProtocol(self, didLoad: Data("answer".utf8))
    client?.urlProtocolDidFinishLoading(self)
  }
}

/// Code that libraries call on behalf of a test. Each test also passes in real time.
final class EverywhereXCTLibrarySamples: TimedSamples, @unchecked Sendable {
  private let session = {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [Stub.self]
    return URLSession(configuration: configuration)
  }()

  private func request(_ milliseconds: Int) -> URL {
    URL(string: "http://localhost/\(milliseconds)")!
  }

  private func load(_ milliseconds: Int) {
    let done = expectation(description: "answer")
    session.dataTask(with: request(milliseconds)) { data, _, _ in
      XCTAssertEqual(data, Data("answer".utf8))
      DispatchQueue.main.asyncAfter(deadline: .now() + 0.1) { done.fulfill() }
    }.resume()
    wait(for: [done], timeout: 3)
  }

  func testAStubThatAnswersImmediately() {
    load(0)
    check(1)
  }

  func testAStubThatAnswersLater() {
    load(200)
    check(3)
  }

  func testAStubAndATimeout() async throws {
    let timeout = Task { try await Task.sleep(for: .seconds(3)) }
    let (data, _) = try await session.data(from: request(300))
    XCTAssertEqual(data, Data("answer".utf8))
    timeout.cancel()
    check(3)
  }

  func testARunLoopInABlock() {
    let done = expectation(description: "timer")
    DispatchQueue(label: "serial").async {
      let timer = Timer(fire: Date() + 0.2, interval: 0, repeats: false) { _ in done.fulfill() }
      RunLoop.current.add(timer, forMode: .default)
      RunLoop.current.run(until: Date() + 0.5)
    }
    wait(for: [done], timeout: 0.4)
    check(2)
  }

  func testNotificationsOfAnItem() {
    let done = expectation(description: "notifications")
    done.expectedFulfillmentCount = 2
    let item = DispatchWorkItem { Thread.sleep(forTimeInterval: 0.3) }
    for queue in [DispatchQueue.main, .global(qos: .utility)] {
      item.notify(queue: queue) { done.fulfill() }
    }
    DispatchQueue.global().async(execute: item)
    wait(for: [done], timeout: 2)
    check(3)
  }
}

/// Tests all of whose jobs run on the main actor, by the runtime's hook for jobs.
final class EverywhereXCTHookSamples: TimedSamples, @unchecked Sendable {
  private typealias Original = @convention(thin) (UnownedJob) -> Void
  private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

  nonisolated(unsafe) private static let hook = dlsym(
    dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobal_hook")?
    .assumingMemoryBound(to: Hook?.self)
  private static let calls = Atomic(0)

  override func invokeTest() {
    guard runsSamples else { return super.invokeTest() }
    let outer = Self.hook?.pointee
    Self.hook?.pointee = { job, _ in
      EverywhereXCTHookSamples.calls.add(1, ordering: .relaxed)
      MainActor.shared.enqueue(job)
    }
    Self.calls.store(0, ordering: .relaxed)
    super.invokeTest()
    Self.hook?.pointee = outer
  }

  func testAChildOfEachJobRunsInOrder() async throws {
    let numbers = await withTaskGroup(of: Int.self) { group in
      for number in 0..<20 {
        group.addTask {
          await Task.yield()
          return number
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    XCTAssertEqual(numbers, Array(0..<20))
    XCTAssertGreaterThanOrEqual(Self.calls.load(ordering: .relaxed), 20)
    try await Task.sleep(for: .milliseconds(300))
    check(3)
  }

  func testATaskThatTheMethodAwaits() {
    let done = expectation(description: "task")
    Task {
      try await Task.sleep(for: .milliseconds(300))
      done.fulfill()
    }
    wait(for: [done], timeout: 2)
    XCTAssertGreaterThanOrEqual(Self.calls.load(ordering: .relaxed), 1)
    check(3)
  }

  func testNothing() {}
}
