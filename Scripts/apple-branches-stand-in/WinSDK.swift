// Declarations of the module WinSDK that the package uses, with the types of Microsoft's headers: processthreadsapi.h.
public typealias DWORD = UInt32

public func TlsAlloc() -> DWORD { 0 }
public func TlsGetValue(_ index: DWORD) -> UnsafeMutableRawPointer! { nil }
public func TlsSetValue(_ index: DWORD, _ value: UnsafeMutableRawPointer!) -> Bool { true }
