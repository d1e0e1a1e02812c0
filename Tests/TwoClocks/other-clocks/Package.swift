// swift-tools-version: 6.2
import PackageDescription

// Represents other packages: one with a module named Clocks, and two that depend on it, as
// swift-dependencies and the Composable Architecture depend on swift-clocks. Their interfaces are the
// parts of the real ones that a test of time needs.
let package = Package(
  name: "other-clocks",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "Clocks", targets: ["Clocks"]),
    .library(name: "Dependencies", targets: ["Dependencies"]),
    .library(name: "Architecture", targets: ["Architecture"]),
  ],
  targets: [
    .target(name: "Clocks"),
    .target(name: "Dependencies", dependencies: ["Clocks"]),
    .target(name: "Architecture", dependencies: ["Dependencies"]),
  ],
  swiftLanguageModes: [.v6]
)
