import Clocks

/// The values that code takes from its surroundings.
public struct DependencyValues: Sendable {
  @TaskLocal fileprivate static var current = DependencyValues()

  public var continuousClock: any Clock<Duration> = ContinuousClock()
}

@propertyWrapper
public struct Dependency<Value>: Sendable {
  private let keyPath: KeyPath<DependencyValues, Value> & Sendable
  private let values = DependencyValues.current

  public init(_ keyPath: KeyPath<DependencyValues, Value> & Sendable) { self.keyPath = keyPath }

  public var wrappedValue: Value { values[keyPath: keyPath] }
}

/// Runs `operation`, in which objects that are made take the changed values.
public func withDependencies<Result>(
  _ change: (inout DependencyValues) -> Void, operation: () throws -> Result
) rethrows -> Result {
  var values = DependencyValues.current
  change(&values)
  return try DependencyValues.$current.withValue(values, operation: operation)
}
