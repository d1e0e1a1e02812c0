import Foundation

/// A file that is written whole or not at all.
///
/// It is written under another name, beside its place, and put there when it is complete. Whatever
/// happens before leaves what was there untouched, even the sudden end of the process.
final class AtomicFile {
  private let place: URL
  private let draft: URL
  private let handle: FileHandle
  private var isCommitted = false

  /// The last part of the name of a file that is not complete.
  static let draftExtension = "draft"

  /// Begins to write what will be the file at `place`.
  init(at place: URL) throws {
    self.place = place
    draft = place.appendingPathExtension(UUID().uuidString)
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

  /// Puts the file in its place; what was there before is gone.
  func commit() throws {
    // The content first: the name must never lead to a file that is not complete.
    try handle.synchronize()
    guard rename(draft.path, place.path) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    isCommitted = true
  }
}
