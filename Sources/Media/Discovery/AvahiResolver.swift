internal import CAvahi
internal import Reactor

/// A resolver of one instance on one path, which also reports later changes.
final class AvahiResolver {
  /// The latest result.
  struct Finding {
    let hostName: String
    let port: UInt16
    let txt: [[UInt8]]
    let address: SocketAddress?
    let time: UInt64
  }

  /// Far more than our own records have, and too little to fill a memory with.
  private static let txtBytesMax = 4_096

  /// The latest answer; a timeout and a removal are answers too.
  enum Answer {
    case found(Finding)
    case failed

    var finding: Finding? { if case .found(let finding) = self { finding } else { nil } }
    var hasFailed: Bool { finding == nil }
  }

  private(set) var answer: Answer?
  private let changed: () -> Void
  private var resolver: OpaquePointer?

  /// Calls back from within calls of Avahi when something has changed.
  init(
    _ instance: AvahiBrowser.Instance, on path: AvahiBrowser.Path, of client: OpaquePointer,
    changed: @escaping () -> Void
  ) throws(AvahiError) {
    self.changed = changed
    // On the path that shows it, and for an address of the same protocol.
    let avahiProtocol = CInt(path.isIPv6 ? AVAHI_PROTO_INET6 : AVAHI_PROTO_INET)
    resolver = avahi_service_resolver_new(
      client, path.interface, avahiProtocol, String(decoding: instance.name, as: UTF8.self), instance.type.dnsName,
      String(decoding: instance.domain, as: UTF8.self), avahiProtocol, AVAHI_LOOKUP_USE_MULTICAST, resolverEvent,
      Unmanaged.passUnretained(self).toOpaque())
    if resolver == nil { throw AvahiError(of: client) }
  }

  deinit {
    if let resolver { avahi_service_resolver_free(resolver) }
  }

  fileprivate func found(_ finding: Finding?) {
    answer = finding.map { .found($0) } ?? .failed
    changed()
  }

  /// The strings in order; nil where they are too many to keep.
  fileprivate static func strings(_ list: UnsafeMutablePointer<AvahiStringList>?) -> [[UInt8]]? {
    var strings: [[UInt8]] = []
    var left = txtBytesMax
    var next = list
    while let node = next {
      let count = avahi_string_list_get_size(node)
      left -= 1 + count
      guard left >= 0 else { return nil }
      strings.append(Array(UnsafeBufferPointer(start: avahi_string_list_get_text(node), count: count)))
      next = avahi_string_list_get_next(node)
    }
    return strings
  }
}

private func resolverEvent(
  _: OpaquePointer?, _ interface: AvahiIfIndex, _: AvahiProtocol, _ event: AvahiResolverEvent,
  _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _ hostName: UnsafePointer<CChar>?,
  _ address: UnsafePointer<AvahiAddress>?, _ port: UInt16, _ txt: UnsafeMutablePointer<AvahiStringList>?,
  _ flags: AvahiLookupResultFlags, _ userdata: UnsafeMutableRawPointer?
) {
  // The object frees its resolver before it is freed.
  let resolver = Unmanaged<AvahiResolver>.fromOpaque(userdata!).takeUnretainedValue()
  guard event == AVAHI_RESOLVER_FOUND, let hostName, let strings = AvahiResolver.strings(txt) else {
    return resolver.found(nil)
  }
  let isLocal = flags.rawValue & AVAHI_LOOKUP_RESULT_LOCAL.rawValue != 0
  resolver.found(
    AvahiResolver.Finding(
      hostName: String(cString: hostName), port: port, txt: strings,
      address: address.flatMap { socketAddress($0.pointee, port, interface, isLocal: isLocal) }, time: Reactor.now))
}

/// Nil for an address that no host can have. A loopback address is accepted from its own daemon alone, or others could
/// direct us to our own services.
private func socketAddress(_ address: AvahiAddress, _ port: UInt16, _ interface: AvahiIfIndex, isLocal: Bool)
  -> SocketAddress?
{
  let found: SocketAddress
  switch address.proto {
  case CInt(AVAHI_PROTO_INET):
    found = SocketAddress(host: .v4(withUnsafeBytes(of: address.data.ipv4.address, Array.init)), port: port)
  case CInt(AVAHI_PROTO_INET6):
    let bytes = withUnsafeBytes(of: address.data.ipv6.address, Array.init)
    let unscoped = SocketAddress(host: .v6(bytes, scope: 0), port: port)
    let scoped = SocketAddress(host: .v6(bytes, scope: UInt32(max(0, interface))), port: port)
    found = unscoped.isLinkLocal ? scoped : unscoped
  default:
    return nil
  }
  return port != 0 && found.isUnicast && (isLocal || !found.isLoopback) ? found : nil
}
