/// Grows each time a host comes up with its key; the newer one is right.
public struct Incarnation: RawRepresentable, Part, Comparable {
  public var rawValue: UInt64

  @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }
  @inlinable public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  @inlinable public static func < (a: Incarnation, b: Incarnation) -> Bool { a.rawValue < b.rawValue }

  public init(from reader: inout Reader) throws(WireError) { rawValue = try reader.varint() }
  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) { sink.put(varint: rawValue) }
}

/// Grows each time the endpoint's host comes up, and each time the endpoint leaves.
public struct EndpointIncarnation: Part, Comparable {
  public var host: Incarnation
  public var count: UInt32

  @inlinable
  public init(host: Incarnation, count: UInt32) {
    self.host = host
    self.count = count
  }

  @inlinable
  public static func < (a: EndpointIncarnation, b: EndpointIncarnation) -> Bool {
    (a.host, a.count) < (b.host, b.count)
  }

  public init(from reader: inout Reader) throws(WireError) {
    host = try Incarnation(from: &reader)
    count = try reader.varint32("endpoint incarnation")
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    host.encode(into: &sink)
    sink.put(varint: count)
  }
}
