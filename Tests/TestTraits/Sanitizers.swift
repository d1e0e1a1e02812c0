import Foundation

/// Whether the process runs under AddressSanitizer or ThreadSanitizer.
///
/// A sanitizer replaces functions of C within the test program. So the program's own calls of these functions are in no
/// call table, and this package does not see them. And a library that was built with a sanitizer cannot be preloaded
/// into a program without it.
package let hasSanitizer = ["__asan_init", "__tsan_init"].contains { (name: String) in
  dlsym(dlopen(nil, RTLD_NOW), name) != nil
}

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
