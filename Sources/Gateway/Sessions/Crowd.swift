internal import Nearby

/// Sessions here of one ad hoc type: mostly they become one, whose members and messages all of them have. So these are
/// kept once. It does not matter where they do not: each list has what its own session has.
final class Crowd {
  let type: String
  let members: SharedItems
  /// The messages of those that keep them in memory, by what they keep.
  private var messages: [Collection.Limits: SharedItems] = [:]
  /// By the slots of their lists of members.
  private var sessions: [SessionModel?] = []
  private let epoch: String
  private let binaryForms: BinaryForms

  init(_ type: String, epoch: String, _ binaryForms: BinaryForms) {
    (self.type, self.epoch, self.binaryForms) = (type, epoch, binaryForms)
    members = SharedItems(epoch: epoch, .crowd)
  }

  func messages(_ limits: Collection.Limits) -> SharedItems {
    if let items = messages[limits] { return items }
    let items = SharedItems(epoch: epoch, limits, binaryForms)
    messages[limits] = items
    return items
  }

  func session(at slot: Int) -> SessionModel? { slot < sessions.count ? sessions[slot] : nil }

  func add(_ session: SessionModel, at slot: Int) {
    while sessions.count <= slot { sessions.append(nil) }
    sessions[slot] = session
  }

  /// Whether it is the last one.
  func remove(at slot: Int) -> Bool {
    sessions[slot] = nil
    messages = messages.filter { !$0.value.isEmpty }
    return members.isEmpty
  }
}

/// The sessions here that an event is for, by the lists that they share.
final class EventAudience {
  let endpoints: [EndpointID]
  let sessions: [SessionModel]
  /// The slots of those with shared lists of members.
  private(set) var crowds: [(crowd: Crowd, slots: NumberSet)] = []
  /// Those with lists of their own.
  private(set) var others: [SessionModel] = []
  /// The slots of the lists of those that share their messages, and the sessions whose messages are in memory and their
  /// own.
  private(set) var messages: [(items: SharedItems, slots: NumberSet)] = []
  private(set) var otherMessages: [SessionModel] = []
  private(set) lazy var owner = Owner(of: sessions.lazy.map(\.peer))

  init(_ endpoints: [EndpointID], _ sessions: [SessionModel]) {
    self.endpoints = endpoints
    self.sessions = sessions
    for session in sessions {
      if let crowd = session.crowd {
        if let index = crowds.firstIndex(where: { $0.crowd === crowd }) {
          crowds[index].slots.insert(session.slot)
        } else {
          crowds.append((crowd, NumberSet(session.slot)))
        }
      } else {
        others.append(session)
      }
      guard session.history == nil else { continue }
      guard let list = session.sharedMessages else {
        otherMessages.append(session)
        continue
      }
      if let index = messages.firstIndex(where: { $0.items === list.shared }) {
        messages[index].slots.insert(list.slot)
      } else {
        messages.append((list.shared, NumberSet(list.slot)))
      }
    }
  }
}
