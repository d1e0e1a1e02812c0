import Synchronization

/// A part of a struct that is never copied, which makes the compiler pass the struct by its address.
///
/// Otherwise a debug build copies the whole struct for each call of a function that does not change it: 784 bytes
/// for the state of a scheduler.
struct PassedByAddress: ~Copyable {
  private let mark = Atomic<UInt8>(0)

  init() {}
}
