internal import Nearby
internal import Notation

/// The JSON of members, written once for all endpoints here that see a member in the same state: the latest of each state.
struct MemberTexts {
  struct Text {
    fileprivate let member: Member
    fileprivate let awaySince: Timestamp?
    fileprivate let isSuspended: Bool
    fileprivate let isVerified: Bool
    let bytes: [UInt8]
    let facets: [String: String]

    fileprivate init(_ model: MemberModel, isVerified: Bool) {
      (member, awaySince) = (model.member, model.awaySince)
      (isSuspended, self.isVerified) = (model.isSuspended, isVerified)
      let json = model.json(isVerified: isVerified)
      bytes = json.bytes
      facets = ["peer": member.peer.text, "state": json["state"]?.text ?? ""]
    }

    /// Two members with the same ID are equal, whatever they have shown.
    fileprivate func isOf(_ model: MemberModel, isVerified: Bool) -> Bool {
      member == model.member && member.encryption == model.member.encryption && member.inviter == model.member.inviter
        && member.chain == model.member.chain && awaySince == model.awaySince
        && isSuspended == model.isSuspended && self.isVerified == isVerified
    }
  }

  /// Limit for the texts that are remembered, some hundred bytes each; past it all are forgotten.
  private static let countMax = 8_192

  /// An endpoint may see a member in its next state before another one has seen the one before.
  private struct Key: Hashable {
    let id: EndpointID
    let state: MemberState
  }

  private var texts: [Key: Text] = [:]
  /// How many texts were written.
  private(set) var writtenCount = 0

  mutating func text(of model: MemberModel, isVerified: Bool) -> Text {
    let key = Key(id: model.member.id, state: model.state)
    if let text = texts[key], text.isOf(model, isVerified: isVerified) { return text }
    if texts.count >= Self.countMax { texts.removeAll() }
    let text = Text(model, isVerified: isVerified)
    texts[key] = text
    writtenCount += 1
    return text
  }
}
