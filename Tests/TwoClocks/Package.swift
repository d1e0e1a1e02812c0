// swift-tools-version: 6.2
import PackageDescription

// The graph of this package has two modules named Clocks. An alias renames the one of
// swift-test-clocks. CLOCKS_WITHOUT_ALIASES in the environment removes the alias, to provoke the
// error message of SwiftPM.
let aliases =
  Context.environment["CLOCKS_WITHOUT_ALIASES"] == nil ? ["Clocks": "VirtualClocks"] : nil

let package = Package(
  name: "two-clocks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(path: "Links/swift-test-clocks"),
    .package(path: "other-clocks"),
  ],
  targets: [
    .target(name: "App", dependencies: [.product(name: "Clocks", package: "other-clocks")]),
    .testTarget(
      name: "AppTests",
      dependencies: [
        "App",
        .product(name: "Clocks", package: "other-clocks"),
        .product(name: "Dependencies", package: "other-clocks"),
        .product(name: "Architecture", package: "other-clocks"),
        .product(
          name: "Clocks", package: "swift-test-clocks",
          moduleAliases: aliases),
        .product(
          name: "ClocksTestKit", package: "swift-test-clocks",
          moduleAliases: aliases),
        .product(name: "TimeoutTask", package: "swift-test-clocks"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
