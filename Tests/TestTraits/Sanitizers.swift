import Foundation

/// Whether the process runs under AddressSanitizer or ThreadSanitizer.
///
/// Their replacements of functions of C are a part of the test program. So its own calls of these functions are in no call
/// table, and this package does not see them. And libraries cannot be preloaded into a program without the sanitizer.
package let hasSanitizer = ["__asan_init", "__tsan_init"].contains { (name: String) in
  dlsym(dlopen(nil, RTLD_NOW), name) != nil
}
