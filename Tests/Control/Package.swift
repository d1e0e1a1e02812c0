// swift-tools-version: 6.2
import PackageDescription

// The tests use nothing of swift-test-clocks. With CONTROL_LINKED in the environment they are linked
// with it all the same: Scripts/control compares how long both take.
let isLinked = Context.environment["CONTROL_LINKED"] != nil

let package = Package(
  name: "control",
  platforms: [.macOS(.v15)],
  dependencies: isLinked ? [.package(name: "swift-test-clocks", path: "../..")] : [],
  targets: [
    .testTarget(
      name: "ControlTests",
      dependencies: isLinked
        ? [
          .product(name: "Clocks", package: "swift-test-clocks"),
          .product(name: "ClocksTestKit", package: "swift-test-clocks"),
        ] : [],
      path: "Tests")
  ],
  swiftLanguageModes: [.v6]
)
