// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    // CLOCKS_CHECKOUT names another checkout to measure with the same workloads.
    .package(name: "swift-test-clocks", path: Context.environment["CLOCKS_CHECKOUT"] ?? ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
  ],
  targets: [
    .target(name: "MeasuredRegion"),
    // The workloads and the measurement.
    .target(
      name: "Workloads",
      dependencies: [
        "MeasuredRegion",
        .product(name: "Clocks", package: "swift-test-clocks"),
        .product(name: "TimeoutTask", package: "swift-test-clocks"),
        // Imports Testing, which on Apple platforms only tests can load.
        .product(
          name: "ClocksTestKit", package: "swift-test-clocks",
          condition: .when(platforms: [.linux])),
      ]),
    // Times the workloads and the floor.
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "Workloads",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    // Runs one workload, for Scripts/instructions and Benchmarks/compare.
    .executableTarget(
      name: "OneWorkload",
      dependencies: [
        "Workloads",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    // Compares the queue of sleeps with a radix heap.
    .executableTarget(name: "Queues"),
  ],
  swiftLanguageModes: [.v6]
)
