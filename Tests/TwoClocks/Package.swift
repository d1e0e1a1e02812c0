// swift-tools-version: 6.2
import PackageDescription

// A package whose graph has two modules named Clocks. Where ours is used it is given another name; with
// CLOCKS_WITHOUT_ALIASES in the environment it is not, to see what is said then.
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
