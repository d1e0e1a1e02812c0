// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "app-example",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "swift-test-clocks", path: "../..")],
  targets: [
    .target(
      name: "Drafts",
      dependencies: [.product(name: "TimeoutTask", package: "swift-test-clocks")]),
    .testTarget(
      name: "DraftsTests",
      dependencies: [
        "Drafts",
        .product(name: "ClocksTestKit", package: "swift-test-clocks"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
