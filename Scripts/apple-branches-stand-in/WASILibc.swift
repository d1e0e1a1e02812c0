// Declarations of the module WASILibc that are not in its headers and that the package uses.
@_exported import WASILibcStandIn

public var errno: CInt { 0 }
