internal import Nearby
internal import Notation

/// Events of hosts and peers that come and go, and of invitations.
extension Event {
  static func started(_ host: HostID, _ peer: Peer, _ endpoint: EndpointID?, type: String?, at addresses: [String])
    -> Event
  {
    Event(
      "started", .news,
      [
        .text("id", host), .text("peer", peer.id), .text("name", peer.name), endpoint.map { .text("endpoint", $0) },
        type.map { .text("type", $0) }, .list("addresses", addresses),
      ]
    ) { paint in
      let name = paint(.strong, PlainText.line(peer.name))
      let place = addresses.isEmpty ? "" : paint(.faint, ", at \(addresses.joined(separator: ", "))")
      return ["this is \(name), \(peer.id)\(type.map { ", for \($0)" } ?? "")\(place)"]
    }
  }

  static func found(_ peer: FoundPeer, _ label: String, as type: String? = nil, _ reach: PeerReach? = nil) -> Event {
    nearby("found", peer, type, reach) { paint in
      "found \(paint.named(peer.id.text.utf8, label)) \(paint(.faint, peer.id.text))"
    }
  }

  static func updated(_ peer: FoundPeer, _ label: String) -> Event {
    nearby("updated", peer) { paint in "updated \(paint.named(peer.id.text.utf8, label))" }
  }

  private static func nearby(
    _ event: String, _ peer: FoundPeer, _ type: String? = nil, _ reach: PeerReach? = nil,
    _ line: @escaping @Sendable (Paint) -> String
  ) -> Event {
    Event(
      event, .news,
      [
        .text("peer", peer.id), .text("name", peer.name), type.map { .text("type", $0) }, info(peer.info),
        ClockTime.awaySince(peer.awaySince),
      ] + (reach?.fields ?? [])
    ) { paint in
      [line(paint) + paint.away(peer.awaySince, behind: ", ") + (peer.info.isEmpty ? "" : "  " + self.line(peer.info))]
    }
  }

  static func lost(_ peer: FoundPeer, _ label: String) -> Event {
    Event("lost", .news, [.text("peer", peer.id), .text("name", peer.name)]) { paint in
      ["lost \(paint.named(peer.id.text.utf8, label))"]
    }
  }

  static func info(_ info: [String: String]) -> JSON.Member {
    let pairs = info.sorted { $0.key < $1.key }
    return .init("info", .object(pairs.map { .text($0.key, $0.value) }))
  }

  static func line(_ info: [String: String]) -> String {
    info.sorted { $0.key < $1.key }.map { PlainText.line("\($0.key)=\($0.value)") }.joined(separator: "  ")
  }

  // MARK: Invitations

  static func invitation(_ number: Int, _ invitation: Invitation, _ label: String, isTaken: Bool) -> Event {
    Event(
      "invitation", .news,
      [
        .number("number", number), .text("peer", invitation.from), .text("name", invitation.name),
        .text("type", invitation.type), .bytes("context", invitation.context), .bool("accepted", isTaken),
      ]
    ) { paint in
      var line = "\(paint.named(invitation.from.text.utf8, label)) \(paint(.faint, invitation.from.text)) invites you"
      if !invitation.context.isEmpty {
        let words = PlainText.text(of: invitation.context).map { "\"\(PlainText.line($0))\"" }
        line += ": \(words ?? Quantity.count(invitation.context.count, "byte", "bytes"))"
      }
      return [
        isTaken ? line : "\(line). \(paint(.strong, "/accept \(number)")) or \(paint(.strong, "/decline \(number)"))"
      ]
    }
  }

  static func invitationEnded(_ number: Int?, _ peer: PeerID, _ name: String, _ label: String, _ reason: Reason)
    -> Event
  {
    Event(
      "invitationEnded", .news,
      [
        number.map { .number("number", $0) }, .text("peer", peer), .text("name", name), .reason(reason),
      ]
    ) { paint in
      reason == .none ? [] : ["the invitation of \(paint.named(peer.text.utf8, label)) ended: \(reason.sentence)"]
    }
  }

  static func inviting(_ peer: FoundPeer, _ label: String) -> Event {
    Event("inviting", .news, [.text("peer", peer.id), .text("name", peer.name)]) { paint in
      ["inviting \(paint.named(peer.id.text.utf8, label)) \(paint(.faint, peer.id.text))"]
    }
  }
}
