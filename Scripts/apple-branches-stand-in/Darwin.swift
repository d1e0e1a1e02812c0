// What Apple's module Darwin adds to its headers, as far as the package names it.
@_exported import DarwinStandIn
@_exported import Glibc
