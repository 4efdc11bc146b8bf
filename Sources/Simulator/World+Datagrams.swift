import Engine
import Wire

/// Datagrams beside a link: lost, late, twice, and only where a path for them is proved.
extension World {
  func planDatagramWay(of link: SimLink, _ side: Int) {
    guard datagramBytesMax(of: link) > 0 else { return }
    var time = now
    func tell(_ bytesMax: Int) {
      time += Int64(wires.below(max(1_000, faults.datagramProof))) * 1_000_000
      events.push(.datagramWay(link: link.index, side: side, bytesMax: bytesMax), at: time)
    }
    if faults.datagramProof > 0 { tell(datagramBytesMax(of: link)) }
    guard wires.chance(perMille: faults.datagramEnds) else { return }
    tell(0)
    if wires.flip() { tell(datagramBytesMax(of: link) / 2) }
  }

  func datagramWay(_ link: SimLink, _ side: Int, bytesMax: Int) {
    let end = link.ends[side]
    guard end.isOpen else { return }
    link.ends[side].datagramBytesMax = bytesMax
    with(end.host, end.run) { host, engine in
      transcript.add(now, host.index) { "datagrams to h\(link.ends[1 - side].host): \(bytesMax) bytes" }
      engine.linkCarriesDatagrams(link.id, bytesMax: bytesMax, at: host.local(now))
    }
  }

  func sendDatagram(_ host: SimHost, _ id: LinkID, _ bytes: [UInt8]) {
    guard let (link, side) = place(of: host, id), link.ends[side].isOpen else { return }
    let most = link.ends[side].datagramBytesMax
    model.check(.datagramsFit, bytes.count <= most) {
      "\(host.label) sends a datagram of \(bytes.count) bytes where \(most) fit"
    }
    tally.bytes += bytes.count
    guard isUp(from: host.index, to: link.ends[1 - side].host, by: link.medium) else { return }
    for copy in 0..<(wires.chance(perMille: faults.datagramTwice) ? 2 : 1) {
      if wires.chance(perMille: faults.datagramLoss) || isLost(on: link) {
        tally.faults += 1
        continue
      }
      let late = wires.chance(perMille: faults.datagramLate) ? 50_000_000 : 0
      let jitter = Int64(wires.below(faults.jitter * 1_000 + 1)) * 1_000
      events.push(
        .datagram(link: link.index, side: 1 - side, bytes: bytes),
        at: now + link.latency + jitter + Int64(late + copy * 1_000_000))
    }
  }

  func arriveDatagram(_ bytes: [UInt8], _ link: SimLink, _ side: Int) {
    let end = link.ends[side]
    guard end.isOpen, !link.isStray, !hosts[end.host].isMalicious,
      isUp(from: link.ends[1 - side].host, to: end.host, by: link.medium)
    else { return }
    tally.frames += 1
    with(end.host, end.run) { host, engine in
      engine.receivedDatagram(bytes.span.bytes, on: link.id, at: host.local(now))
    }
  }
}
