// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    // Another checkout is measured with the same work when it is named in the environment.
    .package(name: "swift-test-clocks", path: Context.environment["CLOCKS_CHECKOUT"] ?? ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
  ],
  targets: [
    .target(name: "MeasuredRegion"),
    // What is measured, and how.
    .target(
      name: "Workloads",
      dependencies: [
        "MeasuredRegion",
        .product(name: "Clocks", package: "swift-test-clocks"),
        .product(name: "TimeoutTask", package: "swift-test-clocks"),
      ]),
    // Times every workload beside the floor.
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "Workloads",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    // Does one workload, for Scripts/instructions and Benchmarks/compare.
    .executableTarget(
      name: "OneWorkload",
      dependencies: [
        "Workloads",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    // Compares the queue of sleeps with another one.
    .executableTarget(name: "Queues"),
  ],
  swiftLanguageModes: [.v6]
)
