// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target.
let house: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableExperimentalFeature("Lifetimes"),
  .treatAllWarnings(as: .error),
]

/// A library's asynchronous calls run where their caller does: nobody hops who need not wait.
let library = house + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

/// The core is also held to strict memory safety: every unsafe construct in it carries its proof.
let core = house + [.strictMemorySafety()]

/// Optimised, the codec and the engine are not looked through for overlapping accesses at run time, which debug builds and
/// fuzzing do (docs/decisions/0011). Other packages depend on this one by its path, or as a copy of their own.
let engine = core + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]

let package = Package(
  name: "vicinity",
  products: [
    .library(name: "Wire", targets: ["Wire"]),
    .library(name: "Engine", targets: ["Engine"]),
    .library(name: "Nearby", targets: ["Nearby"]),
    .library(name: "Store", targets: ["Store"]),
    .library(name: "Simulator", targets: ["Simulator"]),
    .executable(name: "simulate", targets: ["simulate"]),
    .executable(name: "vicinity", targets: ["vicinity"]),
    .executable(name: "vicinity-bluetooth", targets: ["vicinity-bluetooth"]),
  ],
  targets: [
    .target(name: "Wire", swiftSettings: engine),
    .target(name: "Engine", dependencies: ["Wire"], swiftSettings: engine),
    .target(name: "Simulator", dependencies: ["Engine", "Wire"], swiftSettings: house),
    .target(name: "CHash"),
    .target(name: "CReceive"),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CAvahi", providers: [.apt(["libavahi-client-dev"])]),
    .systemLibrary(name: "CBluetooth", pkgConfig: "bluez", providers: [.apt(["libbluetooth-dev"])]),
    .systemLibrary(name: "CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
    .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
    .systemLibrary(name: "CWebSockets", pkgConfig: "libwebsockets", providers: [.apt(["libwebsockets-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .target(name: "Reactor", dependencies: ["CLinux"], swiftSettings: house),
    .target(name: "DBus", dependencies: ["CDBus", "Reactor"], swiftSettings: house),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .target(name: "Store", dependencies: ["CSQLite", "Reactor"], swiftSettings: house),
    .target(name: "BluetoothProtocol", dependencies: ["Wire"], swiftSettings: house),
    .target(
      name: "Media", dependencies: ["BluetoothProtocol", "CAvahi", "CHash", "COpenSSL", "Engine", "Reactor", "Wire"],
      swiftSettings: house),
    .target(
      name: "Nearby", dependencies: ["DBus", "Engine", "Media", "Notation", "Reactor", "Store", "Wire"],
      swiftSettings: library),
    .target(
      name: "Web", dependencies: ["CMicroHTTPD", "CReceive", "CZlib", "Media", "Notation", "Reactor"],
      swiftSettings: house),
    .executableTarget(name: "simulate", dependencies: ["Simulator"], swiftSettings: house),
    .target(name: "Notation", swiftSettings: core),
    .target(
      name: "Gateway", dependencies: ["CQREncode", "Media", "Nearby", "Notation", "Reactor", "Store", "Web"],
      swiftSettings: library),
    .executableTarget(
      name: "vicinity", dependencies: ["Gateway", "Nearby", "Notation"], swiftSettings: house),
    .executableTarget(
      name: "vicinity-bluetooth", dependencies: ["BluetoothProtocol", "CBluetooth", "DBus", "Reactor", "Wire"],
      swiftSettings: house),
    .testTarget(name: "WireTests", dependencies: ["Wire"], exclude: ["Vectors"], swiftSettings: house),
    .testTarget(name: "EngineTests", dependencies: ["Engine", "Wire"], swiftSettings: house),
    .testTarget(name: "SimulatorTests", dependencies: ["Simulator", "Engine", "Wire"], swiftSettings: house),
    .testTarget(name: "ReactorTests", dependencies: ["Reactor"], swiftSettings: house),
    .testTarget(name: "DBusTests", dependencies: ["DBus", "Reactor", "TestKit"], swiftSettings: house),
    .testTarget(
      name: "MediaTests",
      dependencies: ["BluetoothProtocol", "CHash", "COpenSSL", "Engine", "Media", "Reactor", "Wire"],
      swiftSettings: house),
    .testTarget(
      name: "WebTests", dependencies: ["COpenSSL", "CWebSockets", "Engine", "Media", "Reactor", "Web", "Wire"],
      swiftSettings: house),
    .testTarget(
      name: "DiscoveryTests", dependencies: ["CLinux", "Media", "Reactor", "Wire", "lab-rig"], swiftSettings: house),
    .target(name: "BuiltProgram", path: "Tests/BuiltProgram", swiftSettings: house),
    .target(name: "TestKit", path: "Tests/TestKit", swiftSettings: house),
    .target(name: "PowerCut", dependencies: ["CSQLite"], path: "Tests/PowerCut", swiftSettings: house),
    .executableTarget(
      name: "store-writer", dependencies: ["Store"], path: "Tests/StoreTests/Program", swiftSettings: house),
    .testTarget(
      name: "StoreTests", dependencies: ["BuiltProgram", "PowerCut", "Store", "TestKit", "store-writer"],
      exclude: ["Program"],
      swiftSettings: house),
    .testTarget(
      name: "NearbyTests", dependencies: ["DBus", "Engine", "Media", "Nearby", "Reactor", "Store", "TestKit", "Wire"],
      swiftSettings: house),
    .testTarget(
      name: "VicinityTests",
      dependencies: [
        "BuiltProgram", "Gateway", "Media", "Nearby", "Notation", "Reactor", "Store", "TestKit", "vicinity",
      ],
      swiftSettings: house),
    .executableTarget(
      name: "first-contact", dependencies: ["Engine", "Media", "Reactor", "Wire"], path: "Tests/FirstContact/Program",
      swiftSettings: house),
    .testTarget(
      name: "FirstContact", dependencies: ["BuiltProgram", "Engine", "Media", "Reactor", "Wire", "first-contact"],
      exclude: ["Program"],
      swiftSettings: house),
    .executableTarget(
      name: "lab-rig", dependencies: ["CLinux", "Reactor"], path: "Tests/Lab/Rig", swiftSettings: house),
    .executableTarget(name: "lab-peer", dependencies: ["Nearby"], path: "Tests/Lab/Peer", swiftSettings: house),
    .testTarget(
      name: "Lab",
      dependencies: ["BuiltProgram", "CLinux", "Nearby", "Reactor", "first-contact", "lab-peer", "lab-rig"],
      exclude: ["Peer", "Rig"], swiftSettings: house),
    .testTarget(name: "NotationTests", dependencies: ["Notation"], swiftSettings: house),
    .testTarget(
      name: "GatewayTests",
      dependencies: [
        "CMicroHTTPD", "COpenSSL", "CZlib", "Gateway", "Media", "Nearby", "Notation", "PowerCut", "Reactor",
        "Store", "TestKit", "Web",
      ],
      swiftSettings: house),
    .testTarget(name: "TidyTests", swiftSettings: house),
  ],
  swiftLanguageModes: [.v6]
)
