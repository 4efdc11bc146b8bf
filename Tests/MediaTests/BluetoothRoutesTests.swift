import BluetoothProtocol
import TestKit
import Testing

@testable import Media

@Suite struct BluetoothRoutesTests {
  private static let adapters = (1...3).map { BluetoothAddress($0) }
  private static let (one, two, three) = (adapters[0], adapters[1], adapters[2])
  private static let device = BluetoothAddress(0xD)
  private static let other = BluetoothAddress(0xE)

  private static func routes() -> BluetoothRoutes {
    var routes = BluetoothRoutes()
    routes.use(adapters)
    return routes
  }

  @Test func `A device of which nothing is known is tried by all, in their order`() {
    let routes = Self.routes()
    #expect(routes.order(for: Self.device) == Self.adapters && routes.orderNear(Self.device) == Self.adapters)
    #expect(BluetoothRoutes().order(for: Self.device) == [] && BluetoothRoutes().places(of: [Self.device]) == [])
  }

  @Test func `Adapters that see a device are the first, and the only ones for a search`() {
    var routes = Self.routes()
    routes.saw(Self.device, at: [Self.three])
    #expect(routes.order(for: Self.device) == [Self.three, Self.one, Self.two])
    #expect(routes.orderNear(Self.device) == [Self.three])
    routes.saw(Self.device, at: [Self.three, Self.two])
    #expect(routes.orderNear(Self.device) == [Self.three, Self.two])
    // The others do not see it any more.
    routes.saw(Self.device, at: [Self.two])
    #expect(routes.order(for: Self.device) == [Self.two, Self.one, Self.three])
    #expect(routes.order(for: Self.other) == Self.adapters)
  }

  @Test func `The adapter that has reached a device last is the first, until the device is seen by others only`() {
    var routes = Self.routes()
    routes.reached(Self.device, from: Self.two)
    routes.reached(Self.device, from: Self.three)
    #expect(routes.order(for: Self.device) == [Self.three, Self.two, Self.one])
    routes.saw(Self.device, at: Self.adapters)
    #expect(routes.order(for: Self.device) == [Self.three, Self.two, Self.one])
    routes.saw(Self.device, at: [Self.one])
    #expect(routes.order(for: Self.device) == [Self.one, Self.two, Self.three])
  }

  @Test func `An adapter that was tried in vain is the last, also of those that see the device`() {
    var routes = Self.routes()
    routes.missed(Self.device, from: Self.one)
    #expect(routes.order(for: Self.device) == [Self.two, Self.three, Self.one])
    routes.missed(Self.device, from: Self.two)
    #expect(routes.order(for: Self.device) == [Self.three, Self.one, Self.two])
    routes.missed(Self.device, from: Self.three)
    routes.missed(Self.device, from: Self.one)
    #expect(routes.order(for: Self.device) == [Self.two, Self.three, Self.one])
    routes.saw(Self.device, at: [Self.one, Self.two])
    routes.missed(Self.device, from: Self.one)
    #expect(routes.orderNear(Self.device) == [Self.two])
    routes.saw(Self.device, at: [Self.one, Self.two])
    #expect(routes.orderNear(Self.device) == [Self.two, Self.one])
    routes.reached(Self.device, from: Self.one)
    #expect(routes.orderNear(Self.device) == [Self.one, Self.two])
  }

  @Test func `An adapter that goes is not tried, and is known again when it comes back`() {
    var routes = Self.routes()
    routes.saw(Self.device, at: [Self.three])
    routes.use([Self.one, Self.two])
    #expect(routes.order(for: Self.device) == [Self.one, Self.two] && routes.orderNear(Self.device).count == 2)
    routes.use(Self.adapters)
    #expect(routes.orderNear(Self.device) == [Self.three])
  }

  @Test func `Devices are dialled from their best adapters first, and those that are near before the others`() {
    var routes = Self.routes()
    routes.use([Self.one, Self.two])
    routes.saw(Self.other, at: [Self.two])
    let places = routes.places(of: [Self.device, Self.other])
    #expect(
      places == [
        BluetoothPlace(device: Self.other, adapter: Self.two), BluetoothPlace(device: Self.device, adapter: Self.one),
        BluetoothPlace(device: Self.other, adapter: Self.one), BluetoothPlace(device: Self.device, adapter: Self.two),
      ])
  }

  @Test func `Two devices of a host, of which one is in reach of one adapter, are connected within two dials`() {
    for reachable in Self.adapters.prefix(2) {
      var routes = Self.routes()
      routes.use([Self.one, Self.two])
      var tries = 0
      var isConnected = false
      for _ in 0..<2 where !isConnected {
        // A dial has time for as many that do not answer.
        for place in routes.places(of: [Self.device, Self.other]).prefix(3) {
          tries += 1
          isConnected = place == BluetoothPlace(device: Self.other, adapter: reachable)
          if isConnected { break }
          routes.missed(place.device, from: place.adapter)
        }
      }
      #expect(isConnected && tries <= 5, "\(reachable)")
    }
  }

  @Test func `Each adapter that works is tried once for each device, whatever is reported, and 256 devices are kept`() {
    var random = SeededRandom(seed: 41)
    var routes = BluetoothRoutes()
    for _ in 0..<5_000 {
      let some = { (most: Int) in
        (0..<Int.random(in: 0...most, using: &random)).map { _ in BluetoothAddress(.random(in: 0..<20, using: &random))
        }
      }
      let device = BluetoothAddress(.random(in: 0x100..<0x400, using: &random))
      let adapter = BluetoothAddress(.random(in: 0..<20, using: &random))
      switch Int.random(in: 0..<4, using: &random) {
      case 0: routes.use(some(BluetoothState.adaptersMax))
      case 1: routes.saw(device, at: some(BluetoothState.adaptersMax))
      case 2: routes.reached(device, from: adapter)
      default: routes.missed(device, from: adapter)
      }
      let order = routes.order(for: device)
      #expect(order.count == routes.adapters.count && Set(order) == Set(routes.adapters))
      #expect(Set(routes.orderNear(device)).isSubset(of: order))
      #expect(routes.devices <= BluetoothRoutes.devicesMax)
    }
    #expect(routes.devices == BluetoothRoutes.devicesMax)
  }

  @Test func `A device of which nobody has heard for long makes room for a new one`() {
    var routes = Self.routes()
    routes.reached(Self.device, from: Self.three)
    routes.reached(Self.other, from: Self.three)
    for number in 0..<UInt64(BluetoothRoutes.devicesMax - 1) {
      routes.reached(Self.other, from: Self.three)
      routes.saw(BluetoothAddress(0x1000 + number), at: [Self.two])
    }
    #expect(routes.orderNear(Self.device) == Self.adapters && routes.orderNear(Self.other) == [Self.three])
  }
}
