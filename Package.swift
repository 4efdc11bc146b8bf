// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target.
let commonSettings: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableExperimentalFeature("Lifetimes"),
  .treatAllWarnings(as: .error),
]

/// A library's asynchronous calls run where their caller does: nobody hops who need not wait.
let library = commonSettings + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

/// The core is also held to strict memory safety: every unsafe construct in it carries its proof.
let core = commonSettings + [.strictMemorySafety()]

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
    .target(name: "Simulator", dependencies: ["Engine", "Wire"], swiftSettings: commonSettings),
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
    .target(name: "Reactor", dependencies: ["CLinux"], swiftSettings: commonSettings),
    .target(name: "DBus", dependencies: ["CDBus", "Reactor"], swiftSettings: commonSettings),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .target(name: "Store", dependencies: ["CSQLite", "Reactor"], swiftSettings: commonSettings),
    .target(name: "BluetoothProtocol", dependencies: ["Wire"], swiftSettings: commonSettings),
    .target(
      name: "BluetoothServer", dependencies: ["BluetoothProtocol", "DBus", "Reactor", "Wire"],
      swiftSettings: commonSettings),
    .target(
      name: "Media", dependencies: ["BluetoothProtocol", "CAvahi", "CHash", "COpenSSL", "Engine", "Reactor", "Wire"],
      swiftSettings: commonSettings),
    .target(
      name: "Nearby", dependencies: ["DBus", "Engine", "Media", "Notation", "Reactor", "Store", "Wire"],
      swiftSettings: library),
    .target(
      name: "Web", dependencies: ["CMicroHTTPD", "CReceive", "CZlib", "Media", "Notation", "Reactor"],
      swiftSettings: commonSettings),
    .executableTarget(name: "simulate", dependencies: ["Simulator"], swiftSettings: commonSettings),
    .target(name: "Notation", swiftSettings: core),
    .target(
      name: "Gateway", dependencies: ["CQREncode", "Media", "Nearby", "Notation", "Reactor", "Store", "Web"],
      swiftSettings: library),
    .executableTarget(
      name: "vicinity", dependencies: ["Gateway", "Nearby", "Notation"], swiftSettings: commonSettings),
    .executableTarget(
      name: "vicinity-bluetooth",
      dependencies: ["BluetoothProtocol", "BluetoothServer", "CBluetooth", "Reactor", "Wire"],
      swiftSettings: commonSettings),
    .testTarget(name: "WireTests", dependencies: ["Wire"], exclude: ["Vectors"], swiftSettings: commonSettings),
    .testTarget(name: "EngineTests", dependencies: ["Engine", "Wire"], swiftSettings: commonSettings),
    .testTarget(name: "SimulatorTests", dependencies: ["Simulator", "Engine", "Wire"], swiftSettings: commonSettings),
    .testTarget(name: "ReactorTests", dependencies: ["Reactor"], swiftSettings: commonSettings),
    .testTarget(name: "DBusTests", dependencies: ["DBus", "Reactor", "TestKit"], swiftSettings: commonSettings),
    .testTarget(
      name: "BluetoothServerTests",
      dependencies: ["BluetoothProtocol", "BluetoothServer", "DBus", "Reactor", "TestKit", "Wire"],
      swiftSettings: commonSettings),
    .testTarget(
      name: "MediaTests",
      dependencies: ["BluetoothProtocol", "CHash", "COpenSSL", "Engine", "Media", "Reactor", "TestKit", "Wire"],
      swiftSettings: commonSettings),
    .testTarget(
      name: "WebTests", dependencies: ["COpenSSL", "CWebSockets", "Engine", "Media", "Reactor", "Web", "Wire"],
      swiftSettings: commonSettings),
    .testTarget(
      name: "DiscoveryTests", dependencies: ["CLinux", "Media", "Reactor", "Wire", "lab-rig"],
      swiftSettings: commonSettings),
    .target(name: "BuiltProgram", path: "Tests/BuiltProgram", swiftSettings: commonSettings),
    .target(name: "TestKit", path: "Tests/TestKit", swiftSettings: commonSettings),
    .target(
      name: "FakeRadio", dependencies: ["DBus", "Reactor", "TestKit"], path: "Tests/FakeRadio",
      swiftSettings: commonSettings),
    .target(name: "PowerCut", dependencies: ["CSQLite"], path: "Tests/PowerCut", swiftSettings: commonSettings),
    .executableTarget(
      name: "store-writer", dependencies: ["Store"], path: "Tests/StoreTests/Program", swiftSettings: commonSettings),
    .testTarget(
      name: "StoreTests", dependencies: ["BuiltProgram", "PowerCut", "Store", "TestKit", "store-writer"],
      exclude: ["Program"],
      swiftSettings: commonSettings),
    .testTarget(
      name: "NearbyTests",
      dependencies: [
        "BluetoothProtocol", "BuiltProgram", "DBus", "Engine", "FakeRadio", "Media", "Nearby", "Reactor", "Store",
        "TestKit", "Wire",
      ],
      swiftSettings: commonSettings),
    .testTarget(
      name: "VicinityTests",
      dependencies: [
        "BuiltProgram", "DBus", "FakeRadio", "Gateway", "Media", "Nearby", "Notation", "Reactor", "Store", "TestKit",
        "vicinity",
      ],
      swiftSettings: commonSettings),
    .executableTarget(
      name: "first-contact", dependencies: ["Engine", "Media", "Reactor", "Wire"], path: "Tests/FirstContact/Program",
      swiftSettings: commonSettings),
    .testTarget(
      name: "FirstContact", dependencies: ["BuiltProgram", "Engine", "Media", "Reactor", "Wire", "first-contact"],
      exclude: ["Program"],
      swiftSettings: commonSettings),
    .executableTarget(
      name: "lab-rig", dependencies: ["CLinux", "Reactor"], path: "Tests/Lab/Rig", swiftSettings: commonSettings),
    .executableTarget(
      name: "lab-peer", dependencies: ["Nearby"], path: "Tests/Lab/Peer", swiftSettings: commonSettings),
    .testTarget(
      name: "Lab",
      dependencies: ["BuiltProgram", "CLinux", "Nearby", "Reactor", "first-contact", "lab-peer", "lab-rig"],
      exclude: ["Peer", "Rig"], swiftSettings: commonSettings),
    .testTarget(name: "NotationTests", dependencies: ["Notation"], swiftSettings: commonSettings),
    .testTarget(
      name: "GatewayTests",
      dependencies: [
        "CMicroHTTPD", "COpenSSL", "CZlib", "DBus", "Engine", "FakeRadio", "Gateway", "Media", "Nearby", "Notation",
        "PowerCut", "Reactor", "Store", "TestKit", "Web", "Wire",
      ],
      swiftSettings: commonSettings),
    .testTarget(name: "TidyTests", swiftSettings: commonSettings),
  ],
  swiftLanguageModes: [.v6]
)
