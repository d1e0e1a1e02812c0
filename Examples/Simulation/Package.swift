// swift-tools-version: 6.2
import PackageDescription

let kit = Target.Dependency.product(name: "ClocksTestKit", package: "swift-test-clocks")

let package = Package(
  name: "simulation-example",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "swift-test-clocks", path: "../..")],
  targets: [
    .target(name: "Raft"),
    .target(name: "Payments"),
    .target(name: "Sync"),
    // For tests: requests and answers over a simulated network.
    .target(name: "SimulatedCalls", dependencies: [kit]),
    .testTarget(name: "RaftTests", dependencies: ["Raft", kit]),
    .testTarget(name: "PaymentsTests", dependencies: ["Payments", "SimulatedCalls", kit]),
    .testTarget(name: "SyncTests", dependencies: ["Sync", "SimulatedCalls", kit]),
  ],
  swiftLanguageModes: [.v6]
)
