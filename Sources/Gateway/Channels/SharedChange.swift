internal import Nearby
internal import Notation
internal import Web

/// Items and changes of several lists.
extension SharedItems {
  /// The content of an item: its JSON, and the member that it shows, if it is one.
  struct Content {
    let bytes: [UInt8]
    let facets: [String: String]
    var member: MemberModel?
  }

  /// A change, and the lists that have it.
  struct SharedChange {
    let number: UInt64
    let lists: NumberSet
    let change: ItemChange
  }

  /// An item that was put, and the one before; or items that were removed together.
  struct ItemChange {
    let item: Item?
    let before: Item?
    let removed: [RemovedItem]

    init(item: Item, before: Item?) { (self.item, self.before, removed) = (item, before, []) }

    init(removing items: [RemovedItem]) { (item, before, removed) = (nil, nil, items) }

    /// As a list numbers it.
    func change(_ offset: UInt64) -> Change {
      guard let item else { return Change(removing: removed, offset: offset, owner: .gateway) }
      return Change(
        offset: offset, owner: item.owner, id: item.id, bytes: item.bytes, facets: item.facets,
        facetsBefore: before?.facets)
    }

    var byteCount: Int { item?.bytes.count ?? 0 }

    /// Publishes what follows the number in each list's frame.
    func publish(in rings: ChannelRings, _ forms: BinaryForms?, to listeners: Fanout.Listeners? = nil) {
      rings.publish(item?.bytes, forms, behind: Array(",\"put\":".utf8), to: listeners) {
        publish(in: $0, to: listeners)
      }
    }

    private func publish(in ring: Fanout, to listeners: Fanout.Listeners?) {
      if let item, item.bytes.count > Collection.sharedBytesMin {
        return ring.publish(
          Pieces([Array(",\"put\":".utf8), item.bytes, [UInt8(ascii: "}")]]), .text, to: listeners)
      }
      var json: [UInt8] = []
      json.reserveCapacity(byteCount + Self.frameBytes)
      if let item {
        json += ",\"put\":".utf8
        json += item.bytes
      } else {
        Change.writeRemoved(removed.map(\.id), to: &json)
      }
      json.append(UInt8(ascii: "}"))
      json.withUnsafeBytes { ring.publish($0, .text, to: listeners) }
    }

    private static let frameBytes = 64
  }
}
