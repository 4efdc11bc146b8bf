internal import CLinux
internal import Glibc

/// Why a name could not be turned into addresses.
public enum NameLookupError: Error, Hashable, Sendable {
  /// There is no such name, or it has no address.
  case unknown
  /// Too many look-ups are in progress.
  case busy
  /// In the resolver's words.
  case failed(String)
}

extension Reactor {
  /// Looks up the addresses of a name, the system's best first, on a thread of its own, since that may take half a
  /// minute and cannot be interrupted; calls back on the loop.
  public func lookUp(
    _ name: String, port: UInt16, _ completion: @escaping @Sendable (Result<[SocketAddress], NameLookupError>) -> Void
  ) {
    checkOnLoop()
    guard lookupsUnderWay < NameLookup.underWayMax else {
      spawn { completion(.failure(.busy)) }
      return
    }
    lookupsUnderWay += 1
    let lookup = NameLookup(name: name, port: port, reactor: self) { [self] result in
      lookupsUnderWay -= 1
      completion(result)
    }
    var thread = pthread_t()
    let argument = Unmanaged.passRetained(lookup)
    let code = pthread_create(&thread, nil, runLookup, argument.toOpaque())
    if code == 0 {
      pthread_detach(thread)
    } else {
      argument.release()
      lookup.complete(.failure(.failed("\(SystemError("pthread_create", code: code))")))
    }
  }
}

private final class NameLookup: Sendable {
  /// Each holds a thread for as long as the resolver takes.
  static let underWayMax = 16
  private static let addressesMax = 16

  private let name: String
  private let port: UInt16
  private let reactor: Reactor
  private let completion: @Sendable (Result<[SocketAddress], NameLookupError>) -> Void

  init(
    name: String, port: UInt16, reactor: Reactor,
    completion: @escaping @Sendable (Result<[SocketAddress], NameLookupError>) -> Void
  ) {
    self.name = name
    self.port = port
    self.reactor = reactor
    self.completion = completion
  }

  func complete(_ result: Result<[SocketAddress], NameLookupError>) {
    let completion = completion
    reactor.spawn { completion(result) }
  }

  func addresses() -> Result<[SocketAddress], NameLookupError> {
    var hints = addrinfo()
    hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    switch getaddrinfo(name, String(port), &hints, &first) {
    case 0: break
    case EAI_NONAME, nameWithoutAddress: return .failure(.unknown)
    case let code: return .failure(.failed(String(cString: gai_strerror(code))))
    }
    defer { freeaddrinfo(first) }
    var found: [SocketAddress] = []
    var next = first
    while let info = next, found.count < Self.addressesMax {
      next = info.pointee.ai_next
      guard let source = info.pointee.ai_addr else { continue }
      let length = info.pointee.ai_addrlen
      let address = try? SocketAddress { target, count in
        // Both kinds of address fit the buffer.
        memcpy(target, source, Int(min(length, count.pointee)))
      }
      if let address, !found.contains(address) { found.append(address) }
    }
    return found.isEmpty ? .failure(.unknown) : .success(found)
  }
}

/// `EAI_NODATA`, which glibc shows under _GNU_SOURCE only.
private let nameWithoutAddress: CInt = -5

private func runLookup(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let argument else { return nil }
  let lookup = Unmanaged<NameLookup>.fromOpaque(argument).takeRetainedValue()
  lookup.complete(lookup.addresses())
  return nil
}
