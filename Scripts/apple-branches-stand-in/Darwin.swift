// Declarations of Apple's module Darwin that are not in its headers and that the package uses.
@_exported import DarwinStandIn
@_exported import Glibc

/// Apple's header says that the value is never null.
public func pthread_key_create(
  _ key: UnsafeMutablePointer<pthread_key_t>,
  _ threadEnds: (@convention(c) (UnsafeMutableRawPointer) -> Void)?
) -> Int32 { 0 }
