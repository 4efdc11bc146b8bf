/// The media that do not work now, and what their host reports of them.
struct Outages {
  private var troubles: [(medium: ObjectIdentifier, trouble: Trouble)] = []
  private var working: Set<ObjectIdentifier> = []

  /// Takes the state of one of so many media; nil for its trouble where it works. Returns what is to be reported, or nil
  /// where that is no news.
  mutating func change(to trouble: Trouble?, of medium: any Medium, of count: Int) -> HostNetwork.Condition? {
    let medium = ObjectIdentifier(medium)
    let known = troubles.first { $0.medium == medium }?.trouble
    let wereAllDown = troubles.count == count
    troubles.removeAll { $0.medium == medium }
    if let trouble {
      working.remove(medium)
      troubles.append((medium, trouble))
      if trouble == known { return nil }
      return troubles.count == count ? .discoveryUnavailable(trouble) : .mediumUnavailable(trouble)
    }
    let isFirst = working.isEmpty
    guard working.insert(medium).inserted else { return nil }
    return wereAllDown || troubles.isEmpty && (isFirst || known != nil) ? .discoveryAvailable : nil
  }
}
