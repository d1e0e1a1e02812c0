import ClocksSupport

/// Counts who holds a function, so that those can be made to let go of it who never will: tasks that stay
/// suspended for good, because the run was left that they belong to.
///
/// A function that was handed over as one that does not escape must be held by nobody when its user
/// returns, and the compiler sees to that.
package struct ClosureRetainBalance: Sendable {
  package typealias Function = @Sendable () async throws -> Void

  /// Why a box: a bare function would be wrapped in another one when it is handed over as something of any
  /// type.
  private struct Box {
    var function: Function
  }

  private let count: Int

  /// Counts who holds the function now.
  ///
  /// Not an initializer, because those hold their arguments themselves.
  package static func countHolders(of function: @escaping Function) -> ClosureRetainBalance {
    ClosureRetainBalance(count: holders(of: function))
  }

  /// Takes the function from those who have come to hold it since, and will never use it again.
  package func letGo(of function: @escaping Function) {
    guard let context = Self.context(of: function) else { return }
    while Self.holders(of: function) > count {
      Unmanaged<AnyObject>.fromOpaque(context).release()
    }
  }

  private static func holders(of function: @escaping Function) -> Int {
    guard let context = context(of: function), let retainCount else { return 0 }
    return Int(retainCount(context))
  }

  /// The object that a function value has captured, if it has.
  private static func context(of function: @escaping Function) -> UnsafeRawPointer? {
    unsafeBitCast(Box(function: function), to: (UnsafeRawPointer, UnsafeRawPointer?).self).1
  }

  private static let retainCount: (@convention(c) (UnsafeRawPointer) -> UInt)? =
    RuntimeSymbol.address(of: "swift_retainCount").map {
      unsafeBitCast($0, to: (@convention(c) (UnsafeRawPointer) -> UInt).self)
    }
}
