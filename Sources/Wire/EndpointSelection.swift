/// A selection of endpoints by index.
public enum EndpointSelection: Part {
  case all
  /// In strictly ascending order, at most `Limits.selectedIndexesMax`.
  case only([UInt32])
  /// In strictly ascending order, at most `Limits.selectedIndexesMax`.
  case allBut([UInt32])

  public init(from reader: inout Reader) throws(WireError) { self = try EndpointSelectionView(from: &reader).owned }

  @inlinable @inline(__always)
  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    switch self {
    case .all: sink.put(u8: EndpointSelectionView.Kind.all.rawValue)
    case .only(let indexes): Self.put(.only, indexes, into: &sink)
    case .allBut(let indexes): Self.put(.allBut, indexes, into: &sink)
    }
  }

  @usableFromInline
  static func put<S: Sink & ~Copyable & ~Escapable>(
    _ kind: EndpointSelectionView.Kind, _ indexes: [UInt32], into sink: inout S
  ) {
    sink.put(u8: kind.rawValue)
    sink.put(count: indexes.count, max: Limits.selectedIndexesMax)
    var floor: UInt64 = 0
    // Most gaps take a byte, and eight of those go at once.
    var (bytes, count): (UInt64, UInt64) = (0, 0)
    for index in indexes {
      precondition(UInt64(index) >= floor, "an audience's indexes must ascend")
      let gap = UInt64(index) - floor
      floor = UInt64(index) + 1
      if gap < 0x80 { (bytes, count) = (bytes << 8 | gap, count + 1) }
      if count == 8 {
        sink.put(u64: bytes)
        count = 0
      } else if gap >= 0x80 {
        put(bytes, count, into: &sink)
        count = 0
        sink.put(varint: gap)
      }
    }
    put(bytes, count, into: &sink)
  }

  /// The last few of eight.
  private static func put<S: Sink & ~Copyable & ~Escapable>(_ bytes: UInt64, _ count: UInt64, into sink: inout S) {
    for place in (0..<count).reversed() { sink.put(u8: UInt8(truncatingIfNeeded: bytes >> (8 * place))) }
  }
}

/// A selection in its frame: checked, and read without an allocation.
public struct EndpointSelectionView: ~Escapable {
  public enum Kind: UInt8, Sendable {
    case all = 0
    case only = 1
    case allBut = 2
  }

  public let kind: Kind
  /// The number of indexes; 0 for `all`.
  public let count: Int
  /// Minimal varints, as many as `count`, whose sum is in 32 bits.
  @usableFromInline let encoded: RawSpan

  @inlinable @inline(__always)
  @_lifetime(copy reader)
  @_lifetime(reader: copy reader)
  public init(from reader: inout Reader) throws(WireError) {
    let kind = try reader.u8()
    if kind == Kind.all.rawValue {
      self.init(kind: .all, count: 0, encoded: try reader.raw(0))
    } else {
      try self.init(listed: kind, from: &reader)
    }
  }

  @inlinable @inline(__always)
  @_lifetime(copy encoded)
  init(kind: Kind, count: Int, encoded: RawSpan) {
    self.kind = kind
    self.count = count
    self.encoded = encoded
  }

  @usableFromInline
  @_lifetime(copy reader)
  @_lifetime(reader: copy reader)
  init(listed code: UInt8, from reader: inout Reader) throws(WireError) {
    guard let kind = Kind(rawValue: code) else {
      throw WireError(.unknownValue(field: "audience kind", value: code))
    }
    let count = try reader.count("audience", max: Limits.selectedIndexesMax)
    var ahead = reader
    var floor: UInt64 = 0
    for _ in 0..<count {
      // Both are in 33 bits, so the sum cannot overflow.
      let index = floor + UInt64(try ahead.varint32("audience index"))
      guard index <= UInt64(UInt32.max) else {
        throw WireError(.numberOverLimit(field: "audience index", value: index, max: UInt64(UInt32.max)))
      }
      floor = index + 1
    }
    self.init(kind: kind, count: count, encoded: try reader.raw(reader.remaining - ahead.remaining))
  }

  @inlinable
  public var isAll: Bool { kind == .all }

  /// The indexes, ascending.
  @inlinable
  public var indexes: Indexes {
    @_lifetime(copy self)
    get { Indexes(encoded, count: count) }
  }

  /// Whether the endpoint with this index is selected.
  public func contains(_ index: UInt32) -> Bool {
    if kind == .all { return true }
    var indexes = indexes
    while let listed = indexes.next() {
      if listed == index { return kind == .only }
      if listed > index { break }
    }
    return kind == .allBut
  }

  /// A copy that outlives the frame.
  public var owned: EndpointSelection {
    if kind == .all { return .all }
    var list: [UInt32] = []
    list.reserveCapacity(count)
    var indexes = indexes
    while let index = indexes.next() { list.append(index) }
    return kind == .only ? .only(list) : .allBut(list)
  }

  /// Reads the indexes of a checked selection.
  public struct Indexes: ~Escapable {
    @usableFromInline var reader: Reader
    @usableFromInline var left: Int
    @usableFromInline var floor: UInt64 = 0

    @inlinable
    @_lifetime(copy encoded)
    init(_ encoded: RawSpan, count: Int) {
      reader = Reader(encoded)
      left = count
    }

    @_lifetime(self: copy self)
    public mutating func next() -> UInt32? {
      // A checked selection has as many good numbers as it says: the varint cannot fail before `left` is 0.
      guard left > 0, let distance = try? reader.varint() else { return nil }
      left -= 1
      let index = floor + distance
      floor = index + 1
      return UInt32(truncatingIfNeeded: index)
    }
  }
}
