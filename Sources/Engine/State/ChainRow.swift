import Wire

/// A member's security identity, and the local slots that it was shown to: apart from its row, which changes more
/// often.
struct ChainRow: Part {
  var chain: [[UInt8]]
  var shownTo: SlotSet

  init(_ member: RemoteMember) { (chain, shownTo) = (member.chain, member.shownTo) }

  init(from reader: inout Reader) throws(WireError) {
    let count = try reader.count("chain", max: Limits.chainCertificatesMax)
    chain = []
    for _ in 0..<count { chain.append(try reader.bytes("certificate", max: Limits.certificateBytesMax)) }
    shownTo = try SlotSet(from: &reader)
  }

  func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(count: chain.count, max: Limits.chainCertificatesMax)
    for certificate in chain { sink.put(bytes: certificate, max: Limits.certificateBytesMax) }
    shownTo.encode(into: &sink)
  }
}
