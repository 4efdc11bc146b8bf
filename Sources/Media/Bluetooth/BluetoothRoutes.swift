internal import BluetoothProtocol

/// A device, and the adapter of this machine from which it is dialled.
struct BluetoothPlace: Hashable {
  let device: BluetoothAddress
  let adapter: BluetoothAddress
}

/// The order in which the adapters of this machine are tried for each device: first those near it, which were the last to see it or
/// to reach it, then the others, and at the end those that were tried in vain.
///
/// An order is all that it is: whatever the process or a device claims, every adapter has its turn. It remembers so many devices,
/// and forgets the one that was heard of the longest ago.
struct BluetoothRoutes {
  static let devicesMax = 256

  private struct Route {
    /// The one that has reached the device last is the first.
    var near: [BluetoothAddress] = []
    /// The longest ago is the first.
    var missed: [BluetoothAddress] = []
    var changed: UInt64 = 0
  }

  /// Those that work.
  private(set) var adapters: [BluetoothAddress] = []
  private var routes: [BluetoothAddress: Route] = [:]
  private var changes: UInt64 = 0

  mutating func use(_ adapters: [BluetoothAddress]) {
    self.adapters = []
    for adapter in adapters where !self.adapters.contains(adapter) { self.adapters.append(adapter) }
  }

  /// The number of devices that have an order of their own.
  var devices: Int { routes.count }

  // MARK: Inputs

  /// An inquiry of these has found the device, and of no others.
  mutating func saw(_ device: BluetoothAddress, at seeing: [BluetoothAddress]) {
    let seeing = adapters.filter(seeing.contains)
    if seeing.isEmpty { return }
    var route = routes[device] ?? Route()
    let known = route.near.filter(seeing.contains)
    let fresh = seeing.filter { !known.contains($0) }
    // One that sees it and could not reach it is the last of those that see it.
    route.near = known + fresh.filter { !route.missed.contains($0) } + fresh.filter(route.missed.contains)
    route.missed.removeAll(where: seeing.contains)
    set(route, to: device)
  }

  /// The device has connected with the adapter, or has answered it.
  mutating func reached(_ device: BluetoothAddress, from adapter: BluetoothAddress) {
    guard adapters.contains(adapter) else { return }
    var route = routes[device] ?? Route()
    route.near = [adapter] + route.near.filter { $0 != adapter && adapters.contains($0) }
    route.missed.removeAll { $0 == adapter }
    set(route, to: device)
  }

  mutating func missed(_ device: BluetoothAddress, from adapter: BluetoothAddress) {
    guard adapters.contains(adapter) else { return }
    var route = routes[device] ?? Route()
    route.near.removeAll { $0 == adapter }
    route.missed = route.missed.filter { $0 != adapter && adapters.contains($0) } + [adapter]
    set(route, to: device)
  }

  private mutating func set(_ route: Route, to device: BluetoothAddress) {
    if routes[device] == nil, routes.count == Self.devicesMax,
      let oldest = routes.min(by: { $0.value.changed < $1.value.changed })?.key
    {
      routes[oldest] = nil
    }
    changes += 1
    routes[device] = route
    routes[device]?.changed = changes
  }

  // MARK: Orders

  /// All that work.
  func order(for device: BluetoothAddress) -> [BluetoothAddress] {
    guard let route = routes[device] else { return adapters }
    let others = adapters.filter { !route.near.contains($0) && !route.missed.contains($0) }
    return (route.near + others + route.missed).filter(adapters.contains)
  }

  /// Those near the device; all where none is, as far as is known.
  func orderNear(_ device: BluetoothAddress) -> [BluetoothAddress] {
    let near = near(device)
    return near.isEmpty ? order(for: device) : near
  }

  private func near(_ device: BluetoothAddress) -> [BluetoothAddress] {
    routes[device]?.near.filter(adapters.contains) ?? []
  }

  /// Each device from its first adapter, those that are near one before the others; then each from its second, and so on.
  func places(of devices: [BluetoothAddress]) -> [BluetoothPlace] {
    let devices = devices.filter { !near($0).isEmpty } + devices.filter { near($0).isEmpty }
    let orders = devices.map { (device: $0, adapters: order(for: $0)) }
    return adapters.indices.flatMap { turn in
      orders.map { BluetoothPlace(device: $0.device, adapter: $0.adapters[turn]) }
    }
  }
}
