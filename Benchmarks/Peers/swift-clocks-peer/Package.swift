// swift-tools-version: 6.0
import PackageDescription

let package = Package(
  name: "swift-clocks-peer",
  platforms: [.macOS(.v13)],
  dependencies: [
    // SWIFT_CLOCKS names a checkout to use instead, whose folder is called swift-clocks.
    Context.environment["SWIFT_CLOCKS"].map { .package(path: $0) }
      ?? .package(url: "https://github.com/pointfreeco/swift-clocks", from: "1.0.0")
  ],
  targets: [
    .executableTarget(
      name: "swift-clocks-peer",
      dependencies: [.product(name: "Clocks", package: "swift-clocks")])
  ]
)
