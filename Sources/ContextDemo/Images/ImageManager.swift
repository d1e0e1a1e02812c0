/// Hands out images at once, and finds out about them afterwards.
@MainActor final class ImageManager {
  private let store: ImageStore
  private let server: ImageServer
  /// What is being fetched: the image, and who wants to know.
  private var pending: [String: Fetch] = [:]

  typealias Handler = @MainActor (Result<Image, any Error>) -> Void

  private struct Fetch {
    let image: Image
    var handlers: [Handler]
    var task: Task<Void, Never>?
  }

  init(store: ImageStore, server: ImageServer) {
    self.store = store
    self.server = server
  }

  isolated deinit {
    for fetch in pending.values { fetch.task?.cancel() }
  }

  /// An image, at once; at first perhaps with nothing but its id.
  ///
  /// What is on disk is there from the beginning, and the handler is not called. Otherwise the
  /// details are fetched from the server, stored on disk and put into the image; then, or when that
  /// fails, the handler is called, once. An image that is being fetched already is not fetched
  /// again.
  ///
  /// - Throws: What the store throws.
  func image(_ id: String, handler: @escaping Handler) throws -> Image {
    if let details = try store.details(of: id) { return Image(id: id, details: details) }
    if let fetch = pending[id] {
      pending[id]?.handlers.append(handler)
      return fetch.image
    }
    let image = Image(id: id)
    pending[id] = Fetch(image: image, handlers: [handler])
    pending[id]?.task = Task { [weak self, store, server] in
      let result: Result<Image, any Error>
      do {
        let details = try await server.details(of: id)
        try store.save(details)
        image.details = details
        result = .success(image)
      } catch {
        result = .failure(error)
      }
      // A manager that is gone tells nobody anything.
      let handlers = self?.pending.removeValue(forKey: id)?.handlers ?? []
      for handler in handlers { handler(result) }
    }
    return image
  }
}

/// An image, of which at first perhaps only the id is known.
@MainActor final class Image {
  let id: String
  fileprivate(set) var details: ImageDetails?

  init(id: String, details: ImageDetails? = nil) {
    self.id = id
    self.details = details
  }
}
