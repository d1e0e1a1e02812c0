// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "swift-test-clocks",
  platforms: [
    .macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2),
  ],
  products: [
    .library(name: "Clocks", targets: ["Clocks"]),
    .library(name: "TimeoutTask", targets: ["TimeoutTask"]),
    .library(name: "ClocksTestKit", targets: ["ClocksTestKit"]),
    .executable(name: "ContextDemo", targets: ["ContextDemo"]),
  ],
  targets: [
    .target(name: "Clocks"),
    .target(name: "TimeoutTask"),
    .target(name: "ClocksTestKit", dependencies: ["Clocks"]),
    .executableTarget(name: "ContextDemo", dependencies: ["Clocks", "TimeoutTask"]),
    .testTarget(name: "ClocksTests", dependencies: ["Clocks"]),
    .testTarget(name: "ClocksTestKitTests", dependencies: ["Clocks", "ClocksTestKit"]),
    .testTarget(name: "TimeoutTaskTests", dependencies: ["Clocks", "TimeoutTask"]),
    .testTarget(
      name: "ContextDemoTests",
      dependencies: ["Clocks", "ClocksTestKit", "ContextDemo", "TimeoutTask"]),
    .testTarget(name: "DocsTests", dependencies: ["Clocks", "ClocksTestKit"]),
  ],
  swiftLanguageModes: [.v6]
)
