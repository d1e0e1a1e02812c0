import Foundation

/// Whether the process runs under AddressSanitizer.
///
/// There, variables of a function may not be on the stack, so an address does not identify a thread.
var isUnderAddressSanitizer: Bool { dlsym(dlopen(nil, RTLD_NOW), "__asan_init") != nil }
