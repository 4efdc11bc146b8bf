internal import CAvahi
internal import Reactor
internal import Wire

/// A record to be announced by the daemon: an entry group of its own, so that it comes, changes and goes by itself.
final class AvahiPublication {
  /// Rate limit on changes of a record's strings, since each change is sent to everybody on the network.
  private static let changePause: Duration = .milliseconds(250)
  /// The number of names tried at once; beyond it somebody must be taking each that we try.
  private static let collisionsAtOnceMax = 3
  private static let nameBytesMax = 63

  private(set) var record: ServiceRecord
  /// Its place in the order of creation.
  let number: Int
  private let reactor: Reactor
  private let tell: (DirectoryEvent) -> Void
  /// Nil while the daemon takes no records.
  private var client: OpaquePointer?
  private var group: OpaquePointer?
  /// The record that the daemon has been given.
  private var given: ServiceRecord?
  private var name: String
  /// The name that was reported as published; nil where it is not.
  private var told: String?
  private var collisions = 0
  private var failures = 0
  private var retry: Timer?
  private var changePauseEnd: Timer?
  private var isReviewDue = false

  init(_ record: ServiceRecord, number: Int, on reactor: Reactor, tell: @escaping (DirectoryEvent) -> Void) {
    self.record = record
    self.number = number
    self.reactor = reactor
    self.tell = tell
    name = record.key.name
  }

  deinit {
    end()
  }

  // MARK: Calls by the directory

  /// The daemon takes records, or has another host name.
  func begin(with client: OpaquePointer) {
    self.client = client
    register()
  }

  /// The daemon is gone; the client still exists, for freeing its objects.
  func end() {
    cancel(&retry)
    cancel(&changePauseEnd)
    releaseClient()
    told = nil
    client = nil
  }

  func change(to record: ServiceRecord) {
    self.record = record
    if group == nil { return retryNow() }
    if changePauseEnd == nil { bringUpToDate() }
  }

  /// Retries after a change that may have made room.
  func retryNow() {
    if client != nil, group == nil { register() }
  }

  // MARK: The group

  private func register() {
    cancel(&retry)
    guard let client else { return }
    if group == nil {
      group = avahi_entry_group_new(client, groupChanged, Unmanaged.passUnretained(self).toOpaque())
    } else {
      avahi_entry_group_reset(group)
    }
    guard let group else { return fail(AvahiError(of: client)) }
    let code = withTXT { txt in
      avahi_entry_group_add_service_strlst(
        group, CInt(AVAHI_IF_UNSPEC), CInt(AVAHI_PROTO_UNSPEC), AvahiPublishFlags(0), name, record.key.type.dnsName,
        nil,
        nil, record.port, txt)
    }
    if AvahiError(code).isCollision { return takeAnotherName() }
    guard code >= 0 else { return fail(AvahiError(code)) }
    given = record
    let commit = avahi_entry_group_commit(group)
    if AvahiError(commit).isCollision { return takeAnotherName() }
    guard commit >= 0 else { return fail(AvahiError(commit)) }
    // A change may have been missed meanwhile.
    reviewSoon()
  }

  private func bringUpToDate() {
    guard let group, let given, given != record else { return }
    guard given.port == record.port else { return register() }
    let code = withTXT { txt in
      avahi_entry_group_update_service_txt_strlst(
        group, CInt(AVAHI_IF_UNSPEC), CInt(AVAHI_PROTO_UNSPEC), AvahiPublishFlags(0), name, record.key.type.dnsName,
        nil,
        txt)
    }
    guard code >= 0 else { return register() }
    self.given = record
    changePauseEnd = reactor.schedule(after: Self.changePause) { [unowned self] in
      changePauseEnd = nil
      bringUpToDate()
    }
  }

  fileprivate func reviewSoon() {
    guard !isReviewDue else { return }
    isReviewDue = true
    reactor.soon { [weak self] in self?.review() }
  }

  private func review() {
    isReviewDue = false
    guard let client, let group else { return }
    // The library asks the daemon if it does not know the state, and the daemon may not answer.
    let state = avahi_entry_group_get_state(group)
    guard let state = UInt32(exactly: state) else { return fail(AvahiError(state)) }
    switch AvahiEntryGroupState(state) {
    case AVAHI_ENTRY_GROUP_ESTABLISHED:
      collisions = 0
      failures = 0
      guard told != name else { return }
      told = name
      tell(.published(record.key, as: name))
    case AVAHI_ENTRY_GROUP_COLLISION:
      // Only a reset ends the collision.
      avahi_entry_group_reset(group)
      takeAnotherName()
    case AVAHI_ENTRY_GROUP_FAILURE:
      fail(AvahiError(of: client))
    default:
      break
    }
  }

  /// A random name, since an attacker could guess the next in a sequence.
  private func takeAnotherName() {
    var stem = record.key.name
    let suffix = "-" + String(UInt32.random(in: .min ... .max), radix: 36)
    while stem.utf8.count + suffix.utf8.count > Self.nameBytesMax { stem.removeLast() }
    name = stem + suffix
    collisions += 1
    let excess = collisions - Self.collisionsAtOnceMax
    if excess == 1 {
      told = nil
      tell(.notPublished(record.key, AvahiError.collisions))
    }
    registerLater(after: excess <= 0 ? .zero : min(.seconds(5), .milliseconds(250) * (1 << min(excess, 8))))
  }

  private func fail(_ error: AvahiError) {
    releaseClient()
    told = nil
    tell(.notPublished(record.key, error.publishing))
    registerLater(after: min(.seconds(60), .seconds(1) * (1 << min(failures, 8))))
    failures += 1
  }

  private func registerLater(after pause: Duration) {
    cancel(&retry)
    retry = reactor.schedule(after: pause) { [unowned self] in
      retry = nil
      register()
    }
  }

  private func releaseClient() {
    if let group { avahi_entry_group_free(group) }
    group = nil
    given = nil
  }

  private func cancel(_ timer: inout Timer?) {
    if let timer { reactor.cancel(timer) }
    timer = nil
  }

  private func withTXT(_ body: (UnsafeMutablePointer<AvahiStringList>?) -> CInt) -> CInt {
    // The list is stored from its end.
    let txt = record.txt.reduce(nil) { list, string in avahi_string_list_add_arbitrary(list, string, string.count) }
    defer { avahi_string_list_free(txt) }
    return body(txt)
  }
}

private func groupChanged(_: OpaquePointer?, _: AvahiEntryGroupState, _ userdata: UnsafeMutableRawPointer?) {
  // The publication outlives its group.
  Unmanaged<AvahiPublication>.fromOpaque(userdata!).takeUnretainedValue().reviewSoon()
}

extension ServiceType {
  /// The type in DNS-SD's form.
  var dnsName: String { "_\(text)._tcp" }
}
