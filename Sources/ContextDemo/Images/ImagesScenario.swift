import Foundation

/// Shows a resource manager that returns images immediately and loads missing details.
struct ImagesScenario: Scenario {
  static let name = "images"
  static let summary = "images whose details come from a server first, and then from disk"
  static let parameters: [Parameter] = [
    ("--folder PATH", "the folder of the files (default: a temporary folder)"),
    ("--stall SECONDS", "pause in the middle of a write, so that the process can be killed there"),
  ]

  private let folder: URL?
  private let stall: Duration?

  init(_ arguments: Arguments) throws(UsageError) {
    folder = try arguments.path("--folder").map { URL(fileURLWithPath: $0) }
    stall = try arguments.seconds("--stall")
  }

  func run(in demo: DemoEnvironment) async throws {
    let temporary = FileManager.default.temporaryDirectory
      .appendingPathComponent("ContextDemo-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: temporary) }
    try await run(in: demo, folder: folder ?? temporary)
  }

  @MainActor private func run(in demo: DemoEnvironment, folder: URL) async throws {
    let stub = StubServer { request in
      let details = ImageDetails(
        id: String(request.path.dropFirst("/images/".count)), title: "Sunrise", width: 640,
        height: 480)
      return .init(body: try JSONEncoder().encode(details))
    }
    let http = stub.http.delayed(by: .milliseconds(100), on: demo.clock)
    let server = ImageServer(url: stub.url, http: http)
    let store = try ImageStore(folder: folder)

    for _ in 1...2 {
      let manager = ImageManager(store: store, server: server)
      let (updates, continuation) = AsyncStream<Void>.makeStream()
      let image = try manager.image("123") { result in
        demo.log("handler", Self.describe(result))
        continuation.finish()
      }
      demo.log("caller", "gets \(Self.describe(image))")
      guard image.details == nil else { continue }
      for await _ in updates {}
    }

    guard let stall else { return }
    let file = try AtomicFile(at: store.file(of: "123"))
    try file.write(Data("{\"id\":".utf8))
    demo.log("writer", "pauses in the middle of writing image 123")
    try await demo.clock.sleep(for: stall)
    demo.log("writer", "abandons the write")
  }

  @MainActor private static func describe(_ image: Image) -> String {
    guard let details = image.details else { return "image \(image.id)" }
    return "image \(image.id), '\(details.title)', \(details.width) x \(details.height)"
  }

  @MainActor private static func describe(_ result: Result<Image, any Error>) -> String {
    switch result {
    case .success(let image): describe(image)
    case .failure(let error): "\(error)"
    }
  }
}
