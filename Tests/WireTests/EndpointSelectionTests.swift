import Testing
import Wire

@Suite struct EndpointSelectionTests {
  @Test("The indexes of a message are read in order, without a copy of the list")
  func indexes() throws {
    let body = Message(
      record: RecordHead(strand: 1, sequence: 1), from: 0, seen: 0, to: .only([0, 7, 300, .max]), payload: [9]
    ).encoded().body
    let view = try MessageView(decoding: body.span.bytes)
    #expect(view.selection.count == 4)
    var indexes = view.selection.indexes
    var read: [UInt32] = []
    while let index = indexes.next() { read.append(index) }
    #expect(read == [0, 7, 300, .max])
    #expect(indexes.next() == nil)
    #expect([UInt8](view.payload) == [9])
  }

  @Test(
    "An audience contains whom it means",
    arguments: [
      (EndpointSelection.all, [0, 1, 2, UInt32.max]),
      (.only([]), []),
      (.only([1, 2]), [1, 2]),
      (.allBut([]), [0, 1, 2, .max]),
      (.allBut([0, 2]), [1, .max]),
    ])
  func contains(_ selection: EndpointSelection, _ members: [UInt32]) throws {
    let body = Datagram(from: 0, seen: 0, to: selection, payload: []).encoded().body
    let view = try DatagramView(decoding: body.span.bytes)
    #expect(view.selection.isAll == (selection == .all))
    for index in [0, 1, 2, UInt32.max] { #expect(view.selection.contains(index) == members.contains(index)) }
  }

  @Test("An index past 32 bits is refused, by itself and as a sum")
  func overflow() {
    let top = UInt64(UInt32.max)
    let sum: [UInt8] = [0, 0, 1, 2] + Raw.varint(top) + [0]
    #expect(
      broken { _ = try DatagramView(decoding: sum.span.bytes) }
        == .numberOverLimit(field: "audience index", value: top + 1, max: top))
    let alone: [UInt8] = [0, 0, 1, 1] + Raw.varint(top + 1)
    #expect(
      broken { _ = try DatagramView(decoding: alone.span.bytes) }
        == .numberOverLimit(field: "audience index", value: top + 1, max: top))
  }
}
