internal import Media
internal import Reactor

/// How many connections there are, of each client and in all.
final class Attendance {
  private let connectionsMax: Int
  private let perClientMax: Int
  private(set) var count = 0
  private var clients: [AddressGroup: Int] = [:]

  init(_ limits: WebLimits) {
    connectionsMax = limits.connectionsMax
    perClientMax = limits.connectionsPerClientMax
  }

  /// A place, which is free again once nobody keeps it; nil where there is none.
  func admit(_ client: SocketAddress) -> Admission? {
    let group = AddressGroup(client)
    guard count < connectionsMax, clients[group, default: 0] < perClientMax else { return nil }
    count += 1
    clients[group, default: 0] += 1
    return Admission(of: group, in: self)
  }

  fileprivate func leave(_ group: AddressGroup) {
    count -= 1
    guard let left = clients[group] else { return }
    clients[group] = left > 1 ? left - 1 : nil
  }
}

/// One connection's place.
final class Admission {
  private let group: AddressGroup
  private let attendance: Attendance

  fileprivate init(of group: AddressGroup, in attendance: Attendance) {
    self.group = group
    self.attendance = attendance
  }

  func isOf(_ client: SocketAddress) -> Bool { group == AddressGroup(client) }

  deinit {
    attendance.leave(group)
  }
}
