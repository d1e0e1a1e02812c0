import Foundation

/// A resource manager that hands out images at once and fetches what it does not know.
struct ImagesScenario: Scenario {
  static let name = "images"
  static let summary = "images at once; their details from a server, and then from disk"
  static let options = [
    Option(name: "folder", value: "PATH", help: "where to keep them (default: nowhere for long)"),
    Option(name: "stall", value: "SECONDS", help: "halt in the middle of a write, to be killed"),
  ]

  private let folder: URL?
  private let stall: Duration?

  init(_ arguments: Arguments) throws(UsageError) {
    let path = arguments.string("folder")
    guard path != "" else { throw UsageError("option '--folder' needs the path of a folder") }
    folder = path.map { URL(fileURLWithPath: $0) }
    stall = try arguments.seconds("stall")
  }

  func play(on stage: Stage) async throws {
    let temporary = FileManager.default.temporaryDirectory
      .appendingPathComponent("ContextDemo-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: temporary) }
    try await play(on: stage, in: folder ?? temporary)
  }

  @MainActor private func play(on stage: Stage, in folder: URL) async throws {
    let stub = StubServer { request in
      let details = ImageDetails(
        id: String(request.path.dropFirst("/images/".count)), title: "Sunrise", width: 640,
        height: 480)
      return .init(body: try JSONEncoder().encode(details))
    }
    let http = stub.http.delayed(by: .milliseconds(100), on: stage.clock)
    let server = ImageServer(url: stub.url, http: http)
    let store = try ImageStore(folder: folder)

    for _ in 1...2 {
      let manager = ImageManager(store: store, server: server)
      let (updates, continuation) = AsyncStream<Void>.makeStream()
      let image = try manager.image("123") { result in
        stage.log("handler", Self.describe(result))
        continuation.finish()
      }
      stage.log("caller", "gets \(Self.describe(image))")
      guard image.details == nil else { continue }
      for await _ in updates {}
    }

    guard let stall else { return }
    let file = try AtomicFile(at: store.file(of: "123"))
    try file.write(Data("{\"id\":".utf8))
    stage.log("writer", "halts in the middle of writing image 123")
    try await stage.clock.sleep(for: stall)
    stage.log("writer", "gives up")
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
