internal import Media
internal import Reactor

/// The limit at which a connection is refused.
package enum ConnectionLimit: String, CaseIterable, Error {
  case connections, address
  /// The descriptors of this process.
  case descriptors
}

/// Counts of connections, of their descriptors, and of the bytes of responses in memory, for each client and in all.
final class ConnectionCounts {
  private struct Client {
    var connections = 0
    var answerBytes = 0
  }

  private let limits: WebLimits
  private(set) var count = 0
  private let descriptorsMax: Int
  private var descriptors = 0
  private var answerBytes = 0
  private var clients: [AddressGroup: Client] = [:]
  /// Addresses that many clients share.
  private var shared: Set<AddressGroup> = []

  init(_ limits: WebLimits, descriptorsMax: Int) {
    self.limits = limits
    self.descriptorsMax = descriptorsMax
  }

  /// Admits a connection, which counts until the admission is released.
  func admit(_ client: SocketAddress, isShared: Bool = false) throws(ConnectionLimit) -> Admission {
    let group = AddressGroup(client)
    if isShared { shared.insert(group) } else { shared.remove(group) }
    guard count < limits.connectionsMax else { throw .connections }
    guard isShared || clients[group]?.connections ?? 0 < limits.connectionsPerClientMax else { throw .address }
    try add(descriptors: 1)
    count += 1
    clients[group, default: Client()].connections += 1
    return Admission(of: group, in: self)
  }

  fileprivate func add(descriptors number: Int) throws(ConnectionLimit) {
    guard descriptors + number <= descriptorsMax else { throw .descriptors }
    descriptors += number
  }

  fileprivate func release(_ group: AddressGroup, descriptors number: Int) {
    count -= 1
    descriptors -= number
    clients[group]?.connections -= 1
    if clients[group]?.connections == 0 {
      clients[group] = nil
      shared.remove(group)
    }
  }

  fileprivate func hasRoom(forAnswerOf bytes: Int, of group: AddressGroup) -> Bool {
    bytes <= limits.answerShareBytesMax
      || answerBytes + bytes <= limits.answersBytesMax
        && (shared.contains(group) || (clients[group]?.answerBytes ?? 0) + bytes <= limits.answersPerClientBytesMax)
  }

  fileprivate func add(answerBytes bytes: Int, of group: AddressGroup) {
    answerBytes += bytes
    clients[group]?.answerBytes += bytes
  }
}

/// The admission of one connection.
final class Admission {
  private let group: AddressGroup
  private let counts: ConnectionCounts
  private var answerBytes = 0
  private var descriptors = 1

  fileprivate init(of group: AddressGroup, in counts: ConnectionCounts) {
    self.group = group
    self.counts = counts
  }

  func isOf(_ client: SocketAddress) -> Bool { group == AddressGroup(client) }

  /// Counts descriptors that the connection needs beside its own.
  func add(descriptors number: Int) throws(ConnectionLimit) {
    try counts.add(descriptors: number)
    descriptors += number
  }

  /// Whether a response of so many bytes may be held in memory until its client has taken it.
  func hasRoom(forAnswerOf bytes: Int) -> Bool { counts.hasRoom(forAnswerOf: bytes, of: group) }

  /// Counts the bytes of the current response, in place of those of the one before; 0 for none.
  func reserve(answerBytes bytes: Int) {
    counts.add(answerBytes: bytes - answerBytes, of: group)
    answerBytes = bytes
  }

  deinit {
    reserve(answerBytes: 0)
    counts.release(group, descriptors: descriptors)
  }
}
