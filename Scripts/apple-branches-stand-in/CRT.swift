// Declarations of the module CRT that are not in Microsoft's headers and that the package uses.
@_exported import CRTStandIn

public var errno: CInt { 0 }
public var STDERR_FILENO: CInt { 2 }
