import Clocks
import ClocksTestKit
import Testing
import XCTest

/// The examples of Docs/Schedules.md.

/// Remembers images, and downloads each of them once.
actor ThumbnailCache {
  private var images: [String: String] = [:]
  private var downloads: [String: Task<String, any Error>] = [:]
  private let download: @Sendable (String) async throws -> String

  init(download: @escaping @Sendable (String) async throws -> String) {
    self.download = download
  }

  func image(for key: String) async throws -> String {
    if let image = images[key] { return image }
    let task = downloads[key] ?? Task { try await download(key) }
    downloads[key] = task
    let image = try await task.value
    images[key] = image
    return image
  }
}

actor Downloads {
  private(set) var count = 0

  func download(_ key: String) async throws -> String {
    count += 1
    try await Task.sleep(for: .seconds(1))
    return "an image of a \(key)"
  }
}

/// Stores lines.
actor Disk {
  private(set) var lines: [String] = []

  func append(_ line: String) { lines.append(line) }
}

struct ScheduleExamples {
  @Test(.schedules) func oneDownloadPerKey() async throws {
    let downloads = Downloads()
    let cache = ThumbnailCache { try await downloads.download($0) }
    async let first = cache.image(for: "cat")
    async let second = cache.image(for: "cat")
    _ = try await (first, second)
    #expect(await downloads.count == 1)
  }

  @Test(.virtualTime(leftoverSleeps: .fail), .schedules(500, seed: 42))
  func nothingIsLeftBehind() async throws {
    let downloads = Downloads()
    let cache = ThumbnailCache { try await downloads.download($0) }
    _ = try await cache.image(for: "cat")
  }

  @Test(.schedules(500, faults: 1)) func everyMessageIsStored() async throws {
    let time = try VirtualTime.required
    let disk = Disk()
    time.always("no more than five", on: disk) { $0.lines.count <= 5 }
    let count = time.choose(1...5)
    for number in 1...count {
      // The first attempt may fail, and is repeated.
      while time.fault("disk full") { try await Task.sleep(for: .seconds(1)) }
      await disk.append("message \(number)")
    }
    #expect(await disk.lines.count == count)
  }

  @Test(.schedules(.exhaustive(reversals: 2))) func everyOrderOfTwoReversals() async throws {
    let downloads = Downloads()
    async let first = downloads.download("cat")
    async let second = downloads.download("dog")
    _ = try await (first, second)
    #expect(await downloads.count == 2)
  }
}

final class ScheduleExampleXCTests: XCTestCase {
  func testOneDownloadPerKey() async throws {
    try await withSchedules(200) { time in
      let downloads = Downloads()
      let cache = ThumbnailCache { try await downloads.download($0) }
      async let first = cache.image(for: "cat")
      async let second = cache.image(for: "cat")
      _ = try await (first, second)
      let count = await downloads.count
      XCTAssertEqual(count, 1)
      XCTAssertEqual(time.now, .init(offset: .seconds(1)))
    }
  }
}
