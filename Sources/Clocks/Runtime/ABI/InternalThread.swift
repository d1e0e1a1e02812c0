import ClocksSupport

#if os(Linux) && canImport(Glibc)
  /// Threads of this package, which count neither as a test's nor as work outside it.
  enum InternalThread {
    typealias Body = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
    private typealias Create =
      @convention(c) (
        UnsafeMutableRawPointer?, UnsafeRawPointer?, @escaping Body, UnsafeMutableRawPointer?
      ) -> CInt

    /// Is looked up, because calls by this program may be redirected to a function that counts threads.
    private static let create = RuntimeSymbol.function("pthread_create", as: Create.self)

    /// Starts a thread; `nil` if that is not possible. The thread must be joined or detached.
    static func start(_ argument: UnsafeMutableRawPointer?, _ body: @escaping Body) -> pthread_t? {
      nonisolated(unsafe) var thread = pthread_t()
      let error = withUnsafeMutablePointer(to: &thread) { create?($0, nil, body, argument) }
      return error == 0 ? thread : nil
    }
  }
#endif
