internal import Nearby
internal import Notation

/// Events about the list of nearby peers.
extension Event {
  static func nearby(_ peers: [NearbyPeer], _ gathering: Gathering?, peersIn: Int) -> Event {
    let list = peers.map { peer in
      var members: [JSON.Member] = [
        .text("peer", peer.id), .text("name", peer.name), .text("state", peer.state.name),
      ]
      if case .notConnected(let reason) = peer.state { members.append(.reason(reason)) }
      return JSON.object(members + [info(peer.info)] + [ClockTime.awaySince(peer.awaySince)].compactMap(\.self))
    }
    return Event("nearby", .result, [.init("list", .list(list))] + standing(gathering, peersIn)) { paint in
      let head = gathering.map { ["\($0.countText(peersIn)) are in"] } ?? []
      return head + (peers.isEmpty ? ["nobody is nearby yet"] : rows(peers, paint, columns: .max / 2))
    }
  }

  /// The rows of the list, no wider than so many columns; text from others comes last.
  static func rows(_ peers: [NearbyPeer], _ paint: Paint, columns: Int) -> [String] {
    let labels = peers.map(\.label)
    let width = min(labels.map { DisplayWidth.of($0) }.max() ?? 0, max(8, columns / 3))
    return peers.map { peer in
      let label = peer.label.fitted(to: width).padded(to: width)
      let away = peer.awaySince.map { ", away since \(ClockTime.text(of: $0))" } ?? ""
      let rest = [peer.state.text + away, line(peer.info)].filter { !$0.isEmpty }
      let role: Paint.Role =
        switch peer.state {
        case .nearby: .faint
        case .invited, .connecting: .doubtful
        case .connected: .good
        case .declined, .notConnected: .bad
        }
      let state = rest[0].fitted(to: columns - width - 4)
      let more = rest.dropFirst().map { "  " + $0.fitted(to: max(0, columns - width - 6 - DisplayWidth.of(state))) }
      return "  \(paint.named(peer.id.text.utf8, label))  \(paint(role, state))\(more.joined())"
    }
  }

  /// The minimum number of peers is in, or not any more.
  static func enough(_ gathering: Gathering, peersIn: Int) -> Event {
    Event("enough", .news, standing(gathering, peersIn)) { paint in
      let end = gathering.isEnough(peersIn) ? "\(paint(.strong, "/done")), or invite more" : "not enough any more"
      return ["\(gathering.countText(peersIn)) are in: \(end)"]
    }
  }

  static func gathered(_ members: [(member: Member, label: String)]) -> Event {
    let list = members.map { JSON.object([.text("peer", $0.member.peer), .text("name", $0.member.name)]) }
    return Event("gathered", .result, [.init("members", .list(list))]) { paint in
      let names = members.map { paint.named($0.member, $0.label) }.joined(separator: ", ")
      return ["connected with \(names.isEmpty ? "nobody" : names); each line that you type goes to all"]
    }
  }

  private static func standing(_ gathering: Gathering?, _ peersIn: Int) -> [JSON.Member] {
    guard let gathering else { return [.number("peersIn", peersIn)] }
    return [
      .number("peersIn", peersIn), .number("peersMin", gathering.peersMin), .number("peersMax", gathering.peersMax),
      .bool("enough", gathering.isEnough(peersIn)),
    ]
  }
}
