/// A kind of run; its details are drawn from its seed.
public enum Scenario: String, CaseIterable, Sendable {
  case pair
  case adhoc
  case mutualInvitation = "mutual-invitation"
  case discovery
  case answers
  case refusals
  case byHand = "by-hand"
  case groups
  case merge
  case sessions
  case removal
  case encryption
  case trust
  case codes
  case full
  case messages
  case backlog
  case unreliable
  case churn
  case partition
  case silence
  case slow
  case restart
  case backup
  case conflict
  case malicious
  case bulk
  case cheats
  case clocks
  case crowd
  case gateways
  case media
  case walkAway = "walk-away"
  case flapping
  case bridge
  case relayDies = "relay-dies"
  case twoRelays = "two-relays"
  case badRelay = "bad-relay"
  case introduced
  case large
  case crowd5000

  public var summary: String {
    switch self {
    case .pair: "two hosts find, invite, talk and leave, under faults"
    case .adhoc: "2 to 30 hosts connect with no user action"
    case .mutualInvitation: "two hosts invite each other at once, on a calm net: one connection, no disconnect"
    case .discovery: "advertising and browsing that start, stop and change; hosts that die unseen"
    case .answers: "invitations accepted, declined, ignored, cancelled, timed out"
    case .refusals: "ad hoc mode beside people who decline, do not answer, or accept; invitations by hand among them"
    case .byHand: "connection data exchanged by hand, with no discovery; strangers who name themselves"
    case .groups: "three to eight hosts joined by invitations of any member"
    case .merge: "groups that join each other"
    case .sessions: "several sessions at once, several peers on a host"
    case .removal: "members removed, banned, blocked, locked out; leaving and coming back"
    case .encryption: "mixed encryption preferences"
    case .trust: "members that wait for a decision: yes, no, no answer"
    case .codes: "comparison codes"
    case .full: "sessions with few places, and races for the last"
    case .messages: "reliable messages: subsets, bursts, receipts, up to 1 MiB"
    case .backlog: "senders faster than their links: full queues, slow hosts, writable again"
    case .unreliable: "datagrams beside reliable traffic"
    case .churn: "everything at once: cuts, crashes, leaving, joining, messages"
    case .partition: "nets that split and heal"
    case .silence: "cables cut for 2 s and 60 s, one way, noticed or not"
    case .slow: "slow links and long ways"
    case .restart: "hosts that crash and come back in the middle of transfers, with and without their stored state"
    case .backup: "hosts restored from an old backup"
    case .conflict: "one key on two hosts"
    case .malicious: "one host that lies, forges, replays and floods"
    case .bulk: "large transfers beside streams and messages, over slow and faulty links"
    case .cheats: "a member that lies about sizes, ranges, digests and credit, or floods, or never ends or reads"
    case .clocks: "members who read their shared clock, on hosts whose own clocks drift apart"
    case .media: "several media for each host, which come and go"
    case .walkAway: "from Wi-Fi to Bluetooth and back, with messages, a stream and a file on the way"
    case .flapping: "a medium that comes and goes every few seconds beside one that stays"
    case .bridge: "hosts with no common medium find each other by the word of a third, and talk through it"
    case .relayDies: "a relay dies beside another one"
    case .twoRelays: "two relays of which each comes and goes"
    case .badRelay: "a relay that tampers and lies beside an honest one, and a host that floods both"
    case .introduced: "members with no common medium, through one of their session that relays for members alone"
    case .crowd: "many peers on several hosts, who come and go"
    case .gateways: "hosts with many endpoints of one group: subsets, refusals by some, latecomers and leavers"
    case .large: "40 to 100 hosts in one session"
    case .crowd5000: "one host that carries 5,000 peers"
    }
  }

  /// Scenarios that 2,000 seeds take turns in; the two large ones run by name, and at their own rate.
  public static let everyday = allCases.filter { $0 != .large && $0 != .crowd5000 }

  public static func of(seed: UInt64) -> Scenario {
    if seed % 1_999 == 1_998 { return .crowd5000 }
    if seed % 50 == 49 { return .large }
    return everyday[Int(seed % UInt64(everyday.count))]
  }
}
