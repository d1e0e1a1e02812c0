// swift-tools-version: 6.2
import PackageDescription

// A package that stands for any other with a module of the name of ours.
let package = Package(
  name: "other-clocks",
  products: [.library(name: "Clocks", targets: ["Clocks"])],
  targets: [.target(name: "Clocks")],
  swiftLanguageModes: [.v6]
)
