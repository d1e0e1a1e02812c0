// Declarations of Apple's module Darwin that are not in its headers and that the package uses.
@_exported import DarwinStandIn
@_exported import Glibc
