internal import CAvahi
internal import Wire

/// A browser for the instances of one service type, on each interface and protocol by itself.
final class AvahiBrowser {
  /// The interface and protocol of an instance.
  struct Path: Hashable {
    let interface: CInt
    let isIPv6: Bool
  }

  /// Names are compared as bytes: two that look alike are two.
  struct Instance: Hashable {
    let type: ServiceType
    let name: [UInt8]
    let domain: [UInt8]
  }

  enum Notice {
    case new(Instance, Path)
    case removed(Instance, Path)
    case failed(ServiceType, AvahiError)
  }

  private let type: ServiceType
  private let noticed: (Notice) -> Void
  private var browser: OpaquePointer?

  /// Calls back from within calls of Avahi.
  init(_ type: ServiceType, of client: OpaquePointer, noticed: @escaping (Notice) -> Void) throws(AvahiError) {
    self.type = type
    self.noticed = noticed
    browser = avahi_service_browser_new(
      client, CInt(AVAHI_IF_UNSPEC), CInt(AVAHI_PROTO_UNSPEC), type.dnsName, nil, AVAHI_LOOKUP_USE_MULTICAST,
      browserEvent, Unmanaged.passUnretained(self).toOpaque())
    if browser == nil { throw AvahiError(of: client) }
  }

  deinit {
    if let browser { avahi_service_browser_free(browser) }
  }

  fileprivate func heard(_ notice: (ServiceType) -> Notice) { noticed(notice(type)) }
}

private func browserEvent(
  _ browser: OpaquePointer?, _ interface: AvahiIfIndex, _ avahiProtocol: AvahiProtocol, _ event: AvahiBrowserEvent,
  _ name: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _ domain: UnsafePointer<CChar>?, _: AvahiLookupResultFlags,
  _ userdata: UnsafeMutableRawPointer?
) {
  // The object frees its browser before it is freed.
  let owner = Unmanaged<AvahiBrowser>.fromOpaque(userdata!).takeUnretainedValue()
  let path = AvahiBrowser.Path(interface: interface, isIPv6: avahiProtocol == CInt(AVAHI_PROTO_INET6))
  switch event {
  case AVAHI_BROWSER_NEW:
    owner.heard { .new(.init(type: $0, name: bytes(name), domain: bytes(domain)), path) }
  case AVAHI_BROWSER_REMOVE:
    owner.heard { .removed(.init(type: $0, name: bytes(name), domain: bytes(domain)), path) }
  case AVAHI_BROWSER_FAILURE:
    let error = AvahiError(of: avahi_service_browser_get_client(browser))
    owner.heard { .failed($0, error) }
  default:
    break
  }
}

private func bytes(_ text: UnsafePointer<CChar>?) -> [UInt8] { text.map { Array(String(cString: $0).utf8) } ?? [] }
