// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "RealCode",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "swift-test-clocks", path: "../.."),
    .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
  ],
  targets: [
    .target(name: "RealCodeSupport", path: "Support"),
    .testTarget(
      name: "OperatorTests",
      dependencies: [
        "RealCodeSupport",
        .product(name: "Clocks", package: "swift-test-clocks"),
        .product(name: "ClocksTestKit", package: "swift-test-clocks"),
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
      ],
      path: "OperatorTests"),
    .testTarget(
      name: "ServiceTests",
      dependencies: [
        "RealCodeSupport",
        .product(name: "Clocks", package: "swift-test-clocks"),
        .product(name: "ClocksTestKit", package: "swift-test-clocks"),
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
      ],
      path: "ServiceTests"),
    .testTarget(
      name: "NetworkTests",
      dependencies: [
        "RealCodeSupport",
        .product(name: "Clocks", package: "swift-test-clocks"),
        .product(name: "ClocksTestKit", package: "swift-test-clocks"),
        .product(name: "TimeoutTask", package: "swift-test-clocks"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      path: "NetworkTests"),
  ],
  swiftLanguageModes: [.v6]
)

// Takes minutes to build, so it is optional.
if Context.environment["REAL_CODE_HTTP_CLIENT"] != nil {
  package.dependencies.append(
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.24.0"))
  for target in package.targets where target.name == "NetworkTests" {
    target.dependencies.append(.product(name: "AsyncHTTPClient", package: "async-http-client"))
    target.swiftSettings = [.define("HTTP_CLIENT")]
  }
}
