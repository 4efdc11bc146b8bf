import Wire

@testable import Engine

/// The text of a transcript.
extension TestNetwork {
  private func names(_ locals: Locals) -> String { locals.all.map(name).sorted().joined(separator: "+") }
  private func names(_ members: [MemberView]) -> String {
    members.map { name($0.endpoint) }.sorted().joined(separator: "+")
  }

  func describe(_ output: Output, _ host: Host) -> String? {
    switch output {
    case .found(let by, let type, let peer, _, let info, let since):
      "\(name(by)) found \(name(peer)) as \(type)\(text(info))\(text(since))"
    case .updated(let by, _, let peer, _, let info, let since):
      "\(name(by)) sees \(name(peer)) changed\(text(info))\(text(since))"
    case .lost(let by, _, let peer): "\(name(by)) lost \(name(peer))"
    case .invitation(_, let from, _, let to, _, let context, _):
      "\(name(to)) invited by \(name(from)): \(String(decoding: context, as: UTF8.self))"
    case .invitationEnded(_, let reason): "invitation ended: \(reason)"
    case .inviteeNotConnected(let invitee, let reason, let local):
      "\(name(local)): \(name(invitee.peer)) notConnected \(reason)\(invitee.isAskedAgain ? ", asked again" : "")"
    case .members(let members, let state, let locals):
      switch state {
      case .connecting: "\(names(locals)): \(names(members)) connecting"
      case .connected: "\(names(locals)): \(names(members)) connected"
      case .notConnected(let reason): "\(names(locals)): \(names(members)) notConnected \(reason)"
      }
    case .suspended(let members, let isSuspended, let locals):
      "\(names(locals)): \(names(members)) \(isSuspended ? "suspended" : "resumed")"
    case .away(let member, let locals):
      "\(names(locals)): \(names([member]))" + (member.awaySince == nil ? " here" : text(member.awaySince))
    case .message(let from, let to, let mode, let contentType, let bytes):
      "\(names(to)) < \(name(from)): \(mode == .reliable ? "" : "~")\(contentType.map { "(\($0)) " } ?? "")"
        + String(decoding: bytes.bytes, as: UTF8.self)
    case .deliveryStatus(_, _, let to, let status): "\(status) to \(to.map(name).sorted().joined(separator: "+"))"
    case .streamOpened(_, let name, let from, let to): "\(self.name(to)) < \(self.name(from)): stream \(name)"
    case .streamWritable: "stream writable"
    case .streamEnded(let id, let reason): "stream \(host.program.name(of: id)) ended: \(reason)"
    case .resource(_, let view):
      "\(name(view.to)) \(view.isIncoming ? "<" : ">") \(name(view.from)): \(view.info.name)"
        + (view.isAccepted ? "" : "?") + (view.bytes > 0 ? " from \(view.bytes)" : "")
    case .resourceEnded(let id, let reason): "\(host.program.name(of: id)) ended: \(reason)"
    case .writable(let endpoint): "\(name(endpoint)) writable"
    case .clockStepped(_, let locals): "\(names(locals)): clock stepped"
    case .decision(_, let member, let endpoint, _):
      "\(name(endpoint)): decide on \(name(member.endpoint)), chain \(member.chain)"
    case .decisionEnded: "decision ended"
    case .comparison(_, let local, let remote, let code): "\(name(local)) and \(name(remote)) compare \(code)"
    case .comparisonEnded(_, let reason): "comparison ended: \(reason)"
    case .conflict: "conflict"
    case .types(let types): "types: \(types.map(\.text).joined(separator: " "))"
    case .publish, .withdraw, .publishRoster, .withdrawRoster, .browse, .stopBrowsing, .probe, .dial, .dialAlso,
      .wantsToSend, .datagram, .close, .mediumChanged, .persist, .streamed, .read, .rehash, .store, .keep, .progress,
      .publishRelay, .withdrawRelay, .circuitOpened, .circuitBytes, .circuitWritable, .circuitEnded:
      nil
    }
  }

  /// The time since which a peer is away, in whole seconds from the start.
  private func text(_ awaySince: Instant?) -> String {
    awaySince.map { " away since \(($0.nanoseconds + 500_000_000) / 1_000_000_000)" } ?? ""
  }

  private func text(_ info: DiscoveryInfo) -> String {
    info.pairs.map { " \($0.key)=\($0.value)" }.joined()
  }
}
