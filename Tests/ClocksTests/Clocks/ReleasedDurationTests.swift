import Dispatch
import Foundation
import Testing

@testable import Clocks

/// A duration with an object that calls a function when it is released.
private struct Kept: DurationProtocol, Hashable {
  final class Object: Sendable {
    private let isReleased: @Sendable () -> Void
    init(_ isReleased: @escaping @Sendable () -> Void) { self.isReleased = isReleased }
    deinit { isReleased() }
  }

  var count: Int
  var object: Object?

  static let zero = Kept(count: 0)

  static func + (a: Kept, b: Kept) -> Kept { Kept(count: a.count + b.count) }
  static func - (a: Kept, b: Kept) -> Kept { Kept(count: a.count - b.count) }
  static func * (a: Kept, b: Int) -> Kept { Kept(count: a.count * b) }
  static func / (a: Kept, b: Int) -> Kept { Kept(count: a.count / b) }
  static func / (a: Kept, b: Kept) -> Double { Double(a.count) / Double(b.count) }
  static func < (a: Kept, b: Kept) -> Bool { a.count < b.count }
  static func == (a: Kept, b: Kept) -> Bool { a.count == b.count }
  func hash(into hasher: inout Hasher) { hasher.combine(count) }
}

@Suite struct ReleasedDurationTests {
  /// The end of the user's object may do anything, for example wait for another thread.
  @Test func anotherThreadMayReadTheClockWhileAResolutionIsReleased() {
    let clock = TestClock<Kept>()
    let reads = Tally()
    let isReleased: @Sendable () -> Void = {
      let isRead = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        _ = clock.now
        isRead.signal()
      }
      if isRead.wait(timeout: .now() + 60) == .success { reads.add() }
    }
    clock.minimumResolution = Kept(count: 1, object: .init(isReleased))
    #expect(reads.value == 0)
    clock.minimumResolution = Kept(count: 2)
    #expect(clock.minimumResolution == Kept(count: 2))
    #expect(reads.value == 1)
  }
}
