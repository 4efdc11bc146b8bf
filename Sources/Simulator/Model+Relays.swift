import Engine
import Wire

/// Relays: a pair that one joins is not lost, nothing is relayed without need, and a relay holds no more than it grants.
extension Model {
  /// Whether a host tampers with no circuits. One that does breaks rules on its own links as well, which end of that.
  func isHonestRelay(_ host: Int) -> Bool { plan.hosts[host].relayMalice.isEmpty }

  /// Members were reported lost to an endpoint of a host.
  func checkRelays(_ views: [MemberView], _ reason: Reason, at host: SimHost, _ world: World) {
    guard world.relayMedium != nil, reason == .lost || reason == .unreachable else { return }
    for view in views {
      guard let there = hostIDs.firstIndex(of: view.host), there != host.index, isHonestRelay(host.index),
        isHonestRelay(there)
      else { continue }
      check(.aRelayIsEnough, !world.hasLastingRelay(host.index, there)) {
        "\(host.label) has lost \(label(view.endpoint)) (\(reason)), and a relay joins their hosts"
      }
    }
  }

  /// A relay's circuits are within its limits, and so are the bytes that it holds for each.
  func checkCircuits(_ world: World) {
    guard world.relayMedium != nil else { return }
    for host in world.hosts {
      guard let engine = host.engine else { continue }
      let load = engine.circuitLoad
      let rules = RelayRules()
      check(.circuitsAreBounded, load.relayed <= rules.circuitsMax && load.ofHostMax <= rules.circuitsPerHostMax) {
        "\(host.label) relays \(load.relayed) circuits, \(load.ofHostMax) of one host"
      }
      check(.circuitsAreBounded, load.bytesMax <= Limits.circuitWindowBytes) {
        "\(host.label) holds \(load.bytesMax) bytes of a circuit"
      }
    }
  }

  /// In a healed world no link goes through a relay where a medium joins the hosts.
  func checkDirectWays(_ here: EndpointRecord, _ there: EndpointRecord, _ world: World) {
    let (a, b) = (here.ref.host, there.ref.host)
    guard let relayed = world.relayMedium, a != b, world.hasLastingWay(a, b),
      let medium = world.hosts[a].engine?.medium(of: hostIDs[b])
    else { return }
    check(.directWaysTakeOver, medium.rawValue != relayed) {
      "\(here.label) reaches \(there.label) through a relay, and a medium joins their hosts"
    }
  }
}

extension World {
  /// Whether an honest relay has been there for long enough, with ways to both; malicious ones may be there as well.
  func hasLastingRelay(_ a: Int, _ b: Int) -> Bool {
    let since = now - Model.mediumSettles
    func isSteady(_ host: Int) -> Bool { hosts[host].isUp && model.cameUpAt[host] <= since }
    return isSteady(a) && isSteady(b)
      && hosts.indices.contains { relay in
        relay != a && relay != b && plan.hosts[relay].media.count > 1 && plan.hosts[relay].malice == nil
          && model.isHonestRelay(relay) && isSteady(relay) && hasLastingWay(a, relay)
          && hasLastingWay(relay, b) && !mayBeSilent(a, relay) && !mayBeSilent(relay, b)
      }
  }

  /// Whether the link of two hosts may go by a medium that was lost, and neither can know yet: until its silence is over, and
  /// another link is in use, a relay among them leads nowhere, though a second medium joins the two.
  private func mayBeSilent(_ a: Int, _ b: Int) -> Bool {
    model.losses.contains { loss in
      let silence = plan.media[loss.medium].profile.silenceMax + .seconds(1)
      return loss.hosts == [a, b] && now - loss.at <= Int64(silence / .nanoseconds(1))
    }
  }
}
