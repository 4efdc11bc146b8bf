internal import CMicroHTTPD
internal import Glibc

/// What a connection asked last, to know it again: most requests of one connection say the same headers, and many say all
/// the same.
///
/// Law: what is known again was found sound to its last byte; of anything else, all is read and checked anew.
struct HeadMemory {
  private var head: Head?
  /// Of the last head, kept or not.
  private(set) var note = HeadNote()
  /// The version and the headers of `head` as they came: each text behind its length.
  private var bytes: [UInt8] = []

  /// Longer ones are read anew each time, so that idle connections are cheap.
  private static let bytesMax = 2 << 10

  mutating func head(
    of connection: OpaquePointer, _ method: UnsafePointer<CChar>, _ target: String, _ version: UnsafePointer<CChar>,
    from origin: Origin, reading: (Head) throws(WebFault) -> Head
  ) throws(WebFault) -> Head {
    if let head, isKnown(connection, version) {
      let method = String(cString: method)
      if head.method == Method(method), head.target == target { return head }
      let other = try reading(Head(method, target, like: head))
      self.head = other
      note = HeadNote()
      return other
    }
    head = nil
    note = HeadNote()
    var fields = Reading()
    fields.keep(UnsafeRawBufferPointer(start: version, count: strlen(version)))
    withUnsafeMutablePointer(to: &fields) {
      _ = MHD_get_connection_values_n(connection, .HEADER_KIND, readField, $0)
    }
    let raw = RawHead(
      method: String(cString: method), target: target, version: String(cString: version), headers: fields.headers)
    let new = try reading(Head(raw, from: origin))
    if fields.bytes.count <= Self.bytesMax {
      head = new
      bytes = fields.bytes
    }
    return new
  }

  private func isKnown(_ connection: OpaquePointer, _ version: UnsafePointer<CChar>) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var comparing = Comparing(rest: bytes)
      comparing.compare(UnsafeRawBufferPointer(start: version, count: strlen(version)))
      withUnsafeMutablePointer(to: &comparing) {
        _ = MHD_get_connection_values_n(connection, .HEADER_KIND, compareField, $0)
      }
      return comparing.isSame && comparing.rest.isEmpty
    }
  }
}

/// Where a handler keeps what it made of a head, for when the connection says it again.
package final class HeadNote {
  package var content: AnyObject?
}

/// Headers as they come, each time from the first.
private struct Reading {
  var headers = Headers()
  var bytes: [UInt8] = []

  mutating func keep(_ text: UnsafeRawBufferPointer) {
    withUnsafeBytes(of: text.count) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: text)
  }
}

/// Held against those that came before.
private struct Comparing {
  var rest: UnsafeRawBufferPointer
  var isSame = true

  mutating func compare(_ text: UnsafeRawBufferPointer) {
    let end = MemoryLayout<Int>.size + text.count
    isSame = isSame && rest.count >= end && rest.loadUnaligned(as: Int.self) == text.count
    if isSame, let here = rest.baseAddress, let there = text.baseAddress {
      isSame = memcmp(here + MemoryLayout<Int>.size, there, text.count) == 0
    }
    if isSame { rest = UnsafeRawBufferPointer(rebasing: rest[end...]) }
  }
}

private func bytes(_ pointer: UnsafePointer<CChar>?, _ count: Int) -> UnsafeRawBufferPointer {
  UnsafeRawBufferPointer(start: pointer, count: pointer == nil ? 0 : count)
}

private func readField(
  _ reading: UnsafeMutableRawPointer?, _: MHD_ValueKind, _ name: UnsafePointer<CChar>?, _ nameCount: Int,
  _ value: UnsafePointer<CChar>?, _ valueCount: Int
) -> MHD_Result {
  guard let reading = reading?.assumingMemoryBound(to: Reading.self) else { return .NO }
  let (name, value) = (bytes(name, nameCount), bytes(value, valueCount))
  reading.pointee.keep(name)
  reading.pointee.keep(value)
  reading.pointee.headers.append(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self).trimmed)
  return .YES
}

private func compareField(
  _ comparing: UnsafeMutableRawPointer?, _: MHD_ValueKind, _ name: UnsafePointer<CChar>?, _ nameCount: Int,
  _ value: UnsafePointer<CChar>?, _ valueCount: Int
) -> MHD_Result {
  guard let comparing = comparing?.assumingMemoryBound(to: Comparing.self) else { return .NO }
  comparing.pointee.compare(bytes(name, nameCount))
  comparing.pointee.compare(bytes(value, valueCount))
  return comparing.pointee.isSame ? .YES : .NO
}
