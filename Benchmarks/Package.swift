// swift-tools-version: 6.2
import PackageDescription

let commonSettings: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("ExistentialAny"),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "benchmarks",
  dependencies: [.package(name: "vicinity", path: "..")],
  targets: [
    .target(name: "Report", swiftSettings: commonSettings),
    // Other programs: started, asked, watched and ended.
    .target(name: "Programs", swiftSettings: commonSettings),
    // The engine: in one process, without a network.
    .target(name: "CAllocations"),
    .executableTarget(
      name: "bench",
      dependencies: [
        "CAllocations",
        "Report",
        .product(name: "Wire", package: "vicinity"),
        .product(name: "Engine", package: "vicinity"),
      ],
      swiftSettings: commonSettings),
    // The LAN: processes that reach each other by the real path, beside others that do the same without us.
    .executableTarget(name: "bench-lan", dependencies: ["Programs", "Report"], swiftSettings: commonSettings),
    .executableTarget(
      name: "lan-partner",
      dependencies: [.product(name: "Nearby", package: "vicinity")],
      swiftSettings: commonSettings),
    .executableTarget(
      name: "tls-floor", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    // The gateway as clients see it, beside servers that do a part of it.
    .executableTarget(
      name: "bench-gateway",
      dependencies: ["Programs", "Report", .product(name: "Store", package: "vicinity")],
      swiftSettings: commonSettings),
    .executableTarget(name: "http-floor", linkerSettings: [.linkedLibrary("microhttpd")]),
    .executableTarget(name: "socket-load", cSettings: [.define("_GNU_SOURCE")]),
  ],
  swiftLanguageModes: [.v6]
)
