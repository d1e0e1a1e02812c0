/// Returns images immediately and loads their details afterwards.
@MainActor final class ImageManager {
  private let store: ImageStore
  private let server: ImageServer
  /// The running requests, by image id.
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

  /// Returns an image immediately, with its details if they are on disk.
  ///
  /// If they are not on disk, the manager requests the details from the server, stores them on disk and sets
  /// them on the image. It then calls the handler once with the image or the error. Concurrent calls for one
  /// image share a request. If the details are on disk, the handler is not called.
  ///
  /// - Throws: Any error of the store.
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
      // Without the manager there are no handlers left to call.
      let handlers = self?.pending.removeValue(forKey: id)?.handlers ?? []
      for handler in handlers { handler(result) }
    }
    return image
  }
}

/// An image whose details may be unknown at first.
@MainActor final class Image {
  let id: String
  fileprivate(set) var details: ImageDetails?

  init(id: String, details: ImageDetails? = nil) {
    self.id = id
    self.details = details
  }
}
