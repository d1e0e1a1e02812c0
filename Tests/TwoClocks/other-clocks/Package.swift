// swift-tools-version: 6.2
import PackageDescription

// Represents any other package with a module named Clocks.
let package = Package(
  name: "other-clocks",
  products: [.library(name: "Clocks", targets: ["Clocks"])],
  targets: [.target(name: "Clocks")],
  swiftLanguageModes: [.v6]
)
