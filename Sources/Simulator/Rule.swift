/// The rules for every run; docs/simulation.md explains each.
public enum Rule: String, CaseIterable, Sendable {
  // Pairs and members.
  case statesInOrder = "states-in-order"
  case membersMatchEvents = "members-match-events"
  case onlyTheReal = "only-the-real"
  case onlyTheInvited = "only-the-invited"
  case refusedStaysRefused = "refused-stays-refused"
  case encryptionIsAgreed = "encryption-is-agreed"
  case trustIsAsked = "trust-is-asked"
  case neverTooMany = "never-too-many"
  case theLeftStayAway = "the-left-stay-away"
  case leavesAreReported = "leaves-are-reported"
  case endsHaveCauses = "ends-have-causes"
  case silenceIsNoticed = "silence-is-noticed"
  case suspensionEnds = "suspension-ends"
  case everybodyMeets = "everybody-meets"
  case bothOrNeither = "both-or-neither"
  // Media.
  case aMediumIsEnough = "a-medium-is-enough"
  case mediaDoNotFlap = "media-do-not-flap"
  case handoversAreQuick = "handovers-are-quick"
  case upgradesDropNothing = "upgrades-drop-nothing"
  // Relays.
  case aRelayIsEnough = "a-relay-is-enough"
  case directWaysTakeOver = "direct-ways-take-over"
  case circuitsAreBounded = "circuits-are-bounded"
  // Messages.
  case connectedBeforeMessages = "connected-before-messages"
  case exactlyOnce = "exactly-once"
  case inOrder = "in-order"
  case intact = "intact"
  case onlyTheAddressed = "only-the-addressed"
  case oneMessageOneEvent = "one-message-one-event"
  case deliveryStatusesAreTrue = "delivery-statuses-are-true"
  case everySendHasADeliveryStatus = "every-send-has-a-delivery-status"
  case backlogIsBounded = "backlog-is-bounded"
  case writableIsReported = "writable-is-reported"
  // Streams and resources.
  case streamBytesInOrder = "stream-bytes-in-order"
  case streamsEndOnce = "streams-end-once"
  case streamsEndWithPairs = "streams-end-with-pairs"
  case streamsFinish = "streams-finish"
  case streamWritableIsReported = "stream-writable-is-reported"
  case windowsHold = "windows-hold"
  case chunksInOrder = "chunks-in-order"
  case resumesAtOffset = "resumes-at-offset"
  case wholeMeansWhole = "whole-means-whole"
  case resourcesEndOnce = "resources-end-once"
  case offersEndInTime = "offers-end-in-time"
  case transfersFinish = "transfers-finish"
  case progressIsTrue = "progress-is-true"
  case messagesPassBulk = "messages-pass-bulk"
  case sharesAreFair = "shares-are-fair"
  // Invitations, discovery, trust.
  case invitationsEndOnce = "invitations-end-once"
  case invitationsEndInTime = "invitations-end-in-time"
  case noStands = "no-stands"
  case failuresAreReported = "failures-are-reported"
  case attemptsMeet = "attempts-meet"
  case foundThenLost = "found-then-lost"
  case foundIsThere = "found-is-there"
  case awayIsReported = "away-is-reported"
  case deadHostsAreLostInTime = "dead-hosts-are-lost-in-time"
  case neverFindsItself = "never-finds-itself"
  case decisionsEnd = "decisions-end"
  case clockWithinBound = "clock-within-bound"
  case clockNeverGoesBack = "clock-never-goes-back"
  case clocksAgree = "clocks-agree"
  case codesAgree = "codes-agree"
  case conflictIsReported = "conflict-is-reported"
  // The engine as a machine.
  case keysMakePeers = "keys-make-peers"
  case callsThatMakeSenseWork = "calls-that-make-sense-work"
  case datagramsFit = "datagrams-fit"
  case honestSpeakWell = "honest-speak-well"
  case timeMovesOn = "time-moves-on"
  case memoryIsBounded = "memory-is-bounded"
  case neverTraps = "never-traps"
}

/// A broken rule, with its place and time.
public struct Violation: Hashable, Sendable, CustomStringConvertible {
  public var rule: Rule
  public var detail: String
  public var milliseconds: Int

  public init(rule: Rule, detail: String, milliseconds: Int) {
    self.rule = rule
    self.detail = detail
    self.milliseconds = milliseconds
  }

  public var description: String { "\(rule.rawValue): \(detail), at \(milliseconds) ms" }
}
