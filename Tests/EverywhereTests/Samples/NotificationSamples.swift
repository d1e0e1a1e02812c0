import Foundation
import Synchronization
import XCTest

/// Notifications that a run loop posts when it has nothing else to do. Each test also passes in real time.
final class EverywhereXCTNotificationSamples: TimedSamples, @unchecked Sendable {
  private let sample = Notification.Name("sample")

  private func enqueue(_ style: NotificationQueue.PostingStyle) {
    NotificationQueue.default.enqueue(Notification(name: sample), postingStyle: style)
  }

  private func waitForNotification(_ enqueue: () -> Void) {
    let posted = expectation(forNotification: sample, object: nil)
    enqueue()
    wait(for: [posted], timeout: 3)
  }

  func testSoon() {
    waitForNotification { enqueue(.asap) }
    check(0)
  }

  func testWhenIdle() {
    waitForNotification { enqueue(.whenIdle) }
    check(0)
  }

  func testSoonInABlockOfTheMainQueue() {
    waitForNotification { DispatchQueue.main.async { self.enqueue(.asap) } }
    check(0)
  }

  func testWhenIdleInABlockOfTheMainQueue() {
    waitForNotification { DispatchQueue.main.async { self.enqueue(.whenIdle) } }
    check(0)
  }

  func testSoonInADelayedBlock() {
    waitForNotification {
      DispatchQueue.main.asyncAfter(deadline: .now() + 0.3) { self.enqueue(.asap) }
    }
    check(3)
  }

  func testWhenIdleInATask() async {
    let posted = expectation(forNotification: sample, object: nil)
    Task { @MainActor in enqueue(.whenIdle) }
    await fulfillment(of: [posted], timeout: 3)
    check(0)
  }

  /// The notification comes before what happens later.
  func testTheOrderOfANotificationAndABlock() {
    let isPosted = Atomic(false)
    let observer = NotificationCenter.default.addObserver(
      forName: sample, object: nil, queue: nil
    ) { _ in isPosted.store(true, ordering: .sequentiallyConsistent) }
    let done = expectation(description: "a later block")
    DispatchQueue.main.asyncAfter(deadline: .now() + 0.3) { self.enqueue(.asap) }
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.6) {
      XCTAssertTrue(isPosted.load(ordering: .sequentiallyConsistent))
      done.fulfill()
    }
    wait(for: [done], timeout: 3)
    check(6)
    NotificationCenter.default.removeObserver(observer)
  }
}
