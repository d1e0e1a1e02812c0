// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "plugin",
  platforms: [.macOS(.v15)],
  products: [.library(name: "Plugin", type: .dynamic, targets: ["Plugin"])],
  dependencies: [.package(name: "swift-test-clocks", path: "../../..")],
  targets: [
    .target(name: "Plugin", dependencies: [.product(name: "Clocks", package: "swift-test-clocks")])
  ],
  swiftLanguageModes: [.v6]
)
