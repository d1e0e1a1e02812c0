// swift-tools-version: 6.2
import PackageDescription

// The package of a user. Scripts/configurations copies it, and replaces the path.
let clocks = "../.."

let package = Package(
  name: "parcels",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "swift-test-clocks", path: clocks)],
  targets: [
    .target(name: "Parcels"),
    .target(name: "OtherLibrary"),
    .testTarget(
      name: "ParcelsTests",
      dependencies: [
        "Parcels", "OtherLibrary",
        .product(name: "Clocks", package: "swift-test-clocks"),
        .product(name: "ClocksTestKit", package: "swift-test-clocks"),
        .product(name: "TimeoutTask", package: "swift-test-clocks"),
      ]),
    // The compiler ignores a factory where it checks availability.
    .executableTarget(
      name: "FactoryApp",
      dependencies: [.product(name: "Clocks", package: "swift-test-clocks")],
      swiftSettings: [.unsafeFlags(["-Xfrontend", "-disable-availability-checking"])]),
  ],
  swiftLanguageModes: [.v6]
)
