import Foundation

struct ImageDetails: Codable, Hashable, Sendable {
  let id: String
  let title: String
  let width: Int
  let height: Int
}

/// Stores the details of images on disk, one file for each image.
struct ImageStore: Sendable {
  private let folder: URL

  /// Opens the store in `folder`, and removes the drafts that earlier processes left.
  ///
  /// It also removes the drafts of other running processes that use the folder, whose saves then fail. So only one
  /// process at a time may use a folder.
  init(folder: URL) throws {
    self.folder = folder
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for file in try files() where file.pathExtension == AtomicFile.draftExtension {
      try FileManager.default.removeItem(at: file)
    }
  }

  /// Returns the details of an image, or `nil` if they are not stored.
  func details(of id: String) throws -> ImageDetails? {
    let file = try file(of: id)
    guard FileManager.default.fileExists(atPath: file.path) else { return nil }
    return try JSONDecoder().decode(ImageDetails.self, from: Data(contentsOf: file))
  }

  /// Stores the details of an image and replaces any earlier ones.
  func save(_ details: ImageDetails) throws {
    let file = try AtomicFile(at: file(of: details.id))
    try file.write(JSONEncoder().encode(details))
    try file.commit()
  }

  /// Returns the file of an image.
  ///
  /// - Throws: ``ImageError/badID(_:)`` if the id could name a file outside the folder.
  func file(of id: String) throws -> URL {
    guard !id.isEmpty, id.utf8.count <= 100,
      id.unicodeScalars.allSatisfy({ $0.isASCII && ($0.properties.isAlphabetic || "0"..."9" ~= $0) }
      )
    else { throw ImageError.badID(id) }
    return folder.appendingPathComponent(id).appendingPathExtension("json")
  }

  func files() throws -> [URL] {
    try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
  }
}

/// The reason why an image is not available.
enum ImageError: Error, Hashable, CustomStringConvertible {
  /// The id is not 1 to 100 letters and digits.
  case badID(String)
  /// The server sent the details of a different image.
  case wrongImage(String)

  var description: String {
    switch self {
    case .badID(let id): "'\(id)' is not an image id: 1 to 100 letters and digits"
    case .wrongImage(let id): "the server has sent the image '\(id)' instead"
    }
  }
}

/// Writes a file completely or not at all.
///
/// The content goes to a draft beside the destination; ``commit()`` renames the draft. Until then
/// the destination is unchanged, even if the process is killed.
final class AtomicFile {
  private let destination: URL
  private let draft: URL
  private let handle: FileHandle
  private var isCommitted = false

  static let draftExtension = "draft"

  /// Creates a draft of the file at `destination`.
  init(at destination: URL) throws {
    self.destination = destination
    draft = destination.appendingPathExtension(UUID().uuidString)
      .appendingPathExtension(Self.draftExtension)
    try Data().write(to: draft)
    handle = try FileHandle(forWritingTo: draft)
  }

  deinit {
    try? handle.close()
    if !isCommitted { try? FileManager.default.removeItem(at: draft) }
  }

  func write(_ data: Data) throws {
    try handle.write(contentsOf: data)
  }

  /// Replaces the destination with the draft.
  func commit() throws {
    // Flush the content before the rename: the destination must never be an incomplete file.
    try handle.synchronize()
    guard rename(draft.path, destination.path) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    isCommitted = true
  }
}
