import Foundation

/// Whether the process is run under AddressSanitizer, where a function may have its variables elsewhere
/// than on the stack, so that a thread is not known by an address on its own.
var isUnderAddressSanitizer: Bool { dlsym(dlopen(nil, RTLD_NOW), "__asan_init") != nil }
