import Foundation

/// Whether the process runs under AddressSanitizer.
///
/// There, variables of a function may not be on the stack, so an address does not identify a thread.
package let isUnderAddressSanitizer = isLinked("__asan_init")

/// Whether the process runs under AddressSanitizer or ThreadSanitizer.
///
/// A sanitizer replaces functions of C within the test program. So the program's own calls of these functions are in no
/// call table, and this package does not see them. And a library that was built with a sanitizer cannot be preloaded
/// into a program without it.
package let hasSanitizer = isUnderAddressSanitizer || isLinked("__tsan_init")

private func isLinked(_ symbol: String) -> Bool { dlsym(dlopen(nil, RTLD_NOW), symbol) != nil }

/// Whether the kernel shows what each thread does, and its children. In some containers it does not, and the self-test
/// lists that.
package let areThreadsShown: Bool = {
  #if os(Linux)
    let folder = "/proc/self/task/\(getpid())"
    func text(of file: String) -> String? {
      try? String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
    }
    return text(of: "children") != nil
      && ["syscall", "schedstat"].allSatisfy { text(of: $0)?.isEmpty == false }
  #else
    return true
  #endif
}()
