// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "server-example",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "swift-test-clocks", path: "../..")],
  targets: [
    .target(
      name: "Weather",
      dependencies: [
        .product(name: "ClocksCore", package: "swift-test-clocks"),
        .product(name: "TimeoutTask", package: "swift-test-clocks"),
      ]),
    .testTarget(
      name: "WeatherTests",
      dependencies: [
        "Weather",
        .product(name: "ClocksTestKit", package: "swift-test-clocks"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
