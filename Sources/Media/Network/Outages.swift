/// The media that do not work now, and what their host reports of them.
struct Outages {
  private var troubles: [(medium: ObjectIdentifier, trouble: Trouble)] = []
  private var reported: Set<ObjectIdentifier> = []

  /// Returns what is to be reported: the trouble that is new, or one that stays, or that all of so many media work; nil
  /// while some have not reported yet.
  mutating func change(
    to trouble: Trouble?, of medium: any Medium, of count: Int
  ) -> HostNetwork.Condition? {
    let medium = ObjectIdentifier(medium)
    reported.insert(medium)
    troubles.removeAll { $0.medium == medium }
    if let trouble {
      troubles.append((medium, trouble))
      return .discoveryUnavailable(trouble)
    }
    if let rest = troubles.last { return .discoveryUnavailable(rest.trouble) }
    return reported.count == count ? .discoveryAvailable : nil
  }
}
