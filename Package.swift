// swift-tools-version: 6.2
import PackageDescription

// Swift 6.2 has the attributes that put a function among those that run at load under a feature's name.
#if compiler(>=6.3)
  let atLoad: [SwiftSetting] = []
#else
  let atLoad: [SwiftSetting] = [.enableExperimentalFeature("SymbolLinkageMarkers")]
#endif

// The package's own tests check the order of locks, and that access to each variable is exclusive. Its users pay for
// neither check.
let isChecked = Context.environment["CHECK_LOCK_RANKS"] != nil
let support: [SwiftSetting] = isChecked ? [.define("CHECK_LOCK_RANKS")] : []
let exclusivity: [SwiftSetting] =
  isChecked ? [] : [.unsafeFlags(["-enforce-exclusivity=unchecked"])]

// Without optimization, the compiler copies each variable once more for the debugger, and clears that memory first. The
// engine is a tenth faster without these copies. The flag is used only with compilers that are known to have it.
#if compiler(<6.4)
  let engine: [SwiftSetting] =
    exclusivity + [
      .unsafeFlags(
        ["-Xfrontend", "-disable-debugger-shadow-copies"], .when(configuration: .debug))
    ]
#else
  let engine: [SwiftSetting] = exclusivity
#endif

let package = Package(
  name: "swift-test-clocks",
  platforms: [
    .macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2),
  ],
  products: [
    .library(name: "ClocksCore", targets: ["ClocksCore"]),
    .library(name: "Clocks", targets: ["Clocks"]),
    .library(name: "TimeoutTask", targets: ["TimeoutTask"]),
    .library(name: "ClocksTestKit", targets: ["ClocksTestKit"]),
    .library(name: "ClocksEverywhere", type: .dynamic, targets: ["ClocksEverywhere"]),
    .executable(name: "clocks-everywhere", targets: ["EverywhereCommand"]),
    .executable(name: "ContextDemo", targets: ["ContextDemo"]),
  ],
  targets: [
    // Does not import Synchronization: the compiler indexes each library of the toolchain once, in the first file that
    // imports it. That takes two seconds for this one, and all other modules wait for ClocksSupport.
    .target(name: "ClocksSupport", swiftSettings: support + engine),
    .target(name: "ClocksCore", dependencies: ["ClocksSupport"]),
    .target(name: "ClocksDrawing", dependencies: ["ClocksSupport"]),
    .target(name: "ClocksSearch", dependencies: ["ClocksSupport"], swiftSettings: engine),
    .target(
      name: "Clocks",
      dependencies: ["ClocksCore", "ClocksDrawing", "ClocksSearch", "ClocksSupport"],
      exclude: ["README.md"],
      swiftSettings: atLoad + engine),
    .target(name: "TimeoutTask"),
    .target(
      name: "ClocksTestKit", dependencies: ["Clocks", "ClocksDrawing", "ClocksSupport"],
      swiftSettings: atLoad),
    .target(
      name: "ClocksEverywhere", dependencies: ["Clocks", "ClocksSupport", "ClocksTestKit"],
      swiftSettings: atLoad),
    .executableTarget(name: "EverywhereCommand", dependencies: ["Clocks", "ClocksSupport"]),
    .executableTarget(
      name: "ContextDemo", dependencies: ["Clocks", "ClocksSupport", "TimeoutTask"]),
    .target(name: "TestTraits", dependencies: ["ClocksSupport"], path: "Tests/TestTraits"),
    .testTarget(
      name: "ClocksTests",
      dependencies: ["Clocks", "ClocksDrawing", "ClocksSearch", "ClocksSupport", "TestTraits"]),
    .testTarget(name: "ClocksSearchTests", dependencies: ["ClocksSearch", "ClocksSupport"]),
    .testTarget(
      name: "ClocksDrawingTests", dependencies: ["ClocksDrawing", "ClocksSupport", "TestTraits"]),
    .testTarget(
      name: "ClocksTestKitTests",
      dependencies: ["Clocks", "ClocksSearch", "ClocksSupport", "ClocksTestKit", "TestTraits"]),
    .testTarget(
      name: "TimeoutTaskTests", dependencies: ["Clocks", "TestTraits", "TimeoutTask"]),
    .testTarget(
      name: "ContextDemoTests",
      dependencies: [
        "Clocks", "ClocksSupport", "ClocksTestKit", "ContextDemo", "TestTraits", "TimeoutTask",
      ]),
    .testTarget(
      name: "EverywhereTests",
      dependencies: ["Clocks", "ClocksTestKit", "EverywhereCommand", "TestTraits"]),
    .testTarget(name: "DocsTests", dependencies: ["Clocks", "ClocksTestKit", "TestTraits"]),
  ],
  swiftLanguageModes: [.v6]
)
