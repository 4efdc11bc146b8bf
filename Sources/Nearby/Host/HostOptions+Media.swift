internal import Engine
internal import Media
internal import Reactor

/// Options for the network.
extension HostOptions {
  var network: HostNetwork.Options {
    get throws(NearbyError) {
      var network = HostNetwork.Options()
      (network.places, network.port) = try listened
      network.sockets = sockets
      network.looksForTwin = looksForTwin
      network.awaitsAcceptor = awaitsAcceptor
      network.media = try mediumOptions
      return network
    }
  }

  /// A folder that is unfit throws here, before anything is begun; one that goes later is waited for.
  var mediumOptions: [HostNetwork.MediumOptions] {
    get throws(NearbyError) {
      var known: Set<HostMedium> = []
      var options: [HostNetwork.MediumOptions] = []
      let direct = media.filter { $0 != .relay }
      for medium in direct.isEmpty ? [.lan] : direct where known.insert(medium).inserted {
        switch medium {
        case .lan: options.append(.lan(try lan))
        case .folder(let path):
          do throws(Trouble) {
            try HostNetwork.expectUsable(folder: path)
          } catch {
            throw NearbyError(.unavailable, error.sentence)
          }
          options.append(.folder(path))
        case .bluetooth(let adapter): options.append(.bluetooth(adapter: adapter))
        case .relay: break
        }
      }
      // A relay may lead to it, whatever it passes on itself.
      options.append(.relay)
      return options
    }
  }

  private var relayAudience: RelayAudience { relay.audience ?? (media.contains(.relay) ? .all : .members) }

  /// Nil where it relays for nobody.
  var relayRules: RelayRules? {
    if relayAudience == .nobody { return nil }
    var rules = RelayRules()
    rules.isForMembers = relayAudience == .members
    rules.circuitsMax = max(1, relay.circuitsMax)
    rules.circuitsPerHostMax = max(1, relay.circuitsMax / 4)
    rules.bytesPerSecond = max(0, relay.bytesPerSecondMax ?? 0)
    return rules
  }

  private var lan: LAN.Options {
    get throws(NearbyError) {
      var lan = LAN.Options()
      guard case .fixed(let places) = discovery else { return lan }
      var fixed: [SocketAddress] = []
      for place in places {
        do throws(SocketAddressError) {
          fixed.append(try SocketAddress(text: place))
        } catch {
          throw NearbyError(.invalidParameter, error.description)
        }
      }
      lan.fixed = fixed
      return lan
    }
  }

  /// The listening addresses and the port.
  var listened: (places: [SocketAddress], port: UInt16) {
    get throws(NearbyError) {
      var places: [SocketAddress] = []
      for text in listen {
        do throws(SocketAddressError) {
          places.append(try SocketAddress(textOfPlace: text))
        } catch {
          throw NearbyError(.invalidParameter, error.description)
        }
      }
      let ports = Set(places.map(\.port)).subtracting([0])
      if ports.count > 1 {
        let shown = ports.sorted().map(String.init).joined(separator: " and ")
        throw NearbyError(.invalidParameter, "a host listens at one port, and not at \(shown): name one of them")
      }
      return (places, ports.first ?? port)
    }
  }

  var fetching: WebFetch.Options {
    var fetching = WebFetch.Options()
    fetching.bytesMax = web.bytesMax
    fetching.policy = AddressPolicy(allowsPrivate: web.allowsPrivate, allowsLoopback: web.allowsLoopback)
    return fetching
  }
}

extension Condition {
  init(_ condition: HostNetwork.Condition) {
    self =
      switch condition {
      case .discoveryUnavailable(let trouble): .discoveryUnavailable(cause: trouble.cause, cure: trouble.cure)
      case .mediumUnavailable(let trouble): .mediumUnavailable(cause: trouble.cause, cure: trouble.cure)
      case .discoveryAvailable: .discoveryAvailable
      case .addresses(let addresses): .addresses(addresses.map(\.description))
      }
  }
}
