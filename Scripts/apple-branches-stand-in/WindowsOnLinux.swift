// The functions of Windows that the package calls, on this system. `Scripts/configurations` adds this file to a copy of
// the package, to run the code for Windows.
import Glibc

public typealias DWORD = UInt32

func TlsAlloc() -> DWORD {
  var key = Glibc.pthread_key_t()
  return Glibc.pthread_key_create(&key, nil) == 0 ? key : .max
}
func TlsGetValue(_ index: DWORD) -> UnsafeMutableRawPointer? { Glibc.pthread_getspecific(index) }
func TlsSetValue(_ index: DWORD, _ value: UnsafeMutableRawPointer?) -> Bool {
  Glibc.pthread_setspecific(index, value) == 0
}

func _isatty(_ file: CInt) -> CInt { Glibc.isatty(file) }
func _mkdir(_ path: String) -> CInt { Glibc.mkdir(path, 0o777) }
func _write(_ file: CInt, _ bytes: UnsafeRawPointer, _ count: CUnsignedInt) -> CInt {
  CInt(Glibc.write(file, bytes, Int(count)))
}
