import Foundation

/// What there is to know about an image.
struct ImageDetails: Codable, Hashable, Sendable {
  let id: String
  let title: String
  let width: Int
  let height: Int
}

/// Keeps the details of images on disk, a file an image.
struct ImageStore: Sendable {
  private let folder: URL

  /// Opens the store in `folder`, which is made if it is not there, and removes what an earlier
  /// process did not get to write to the end.
  init(folder: URL) throws {
    self.folder = folder
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for file in try files() where file.pathExtension == AtomicFile.draftExtension {
      try FileManager.default.removeItem(at: file)
    }
  }

  /// The details of an image, or `nil` if they are not stored.
  func details(of id: String) throws -> ImageDetails? {
    let file = try file(of: id)
    guard FileManager.default.fileExists(atPath: file.path) else { return nil }
    return try JSONDecoder().decode(ImageDetails.self, from: Data(contentsOf: file))
  }

  /// Stores the details of an image, in place of what was stored before.
  func save(_ details: ImageDetails) throws {
    let file = try AtomicFile(at: file(of: details.id))
    try file.write(JSONEncoder().encode(details))
    try file.commit()
  }

  /// Where the details of an image are.
  ///
  /// - Throws: ``ImageError/badID(_:)`` if the id could name a file elsewhere.
  func file(of id: String) throws -> URL {
    guard !id.isEmpty, id.utf8.count <= 100,
      id.unicodeScalars.allSatisfy({ $0.isASCII && ($0.properties.isAlphabetic || "0"..."9" ~= $0) }
      )
    else { throw ImageError.badID(id) }
    return folder.appendingPathComponent(id).appendingPathExtension("json")
  }

  /// Every file in the store's folder.
  func files() throws -> [URL] {
    try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
  }
}

/// Why an image cannot be had.
enum ImageError: Error, Hashable, CustomStringConvertible {
  /// The id contains something else than letters and digits, or nothing, or too much.
  case badID(String)
  /// The server has sent another image.
  case wrongImage(String)

  var description: String {
    switch self {
    case .badID(let id): "'\(id)' is no id of an image: up to 100 letters and digits"
    case .wrongImage(let id): "the server has sent '\(id)' instead"
    }
  }
}
