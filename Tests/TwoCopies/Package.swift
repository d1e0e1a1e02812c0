// swift-tools-version: 6.2
import PackageDescription

// The library Plugin is dynamic and links Clocks statically, and so do the tests: their process contains
// two copies of Clocks.
let package = Package(
  name: "two-copies",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "swift-test-clocks", path: "../.."),
    .package(path: "plugin"),
  ],
  targets: [
    .testTarget(
      name: "TwoCopiesTests",
      dependencies: [
        .product(name: "Clocks", package: "swift-test-clocks"),
        .product(name: "Plugin", package: "plugin"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
