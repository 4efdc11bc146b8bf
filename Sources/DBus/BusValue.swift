internal import CDBus
public import Reactor

/// A value of a D-Bus message, by the types of its specification.
public enum BusValue: Hashable, Sendable {
  case byte(UInt8)
  case boolean(Bool)
  case int16(Int16)
  case uint16(UInt16)
  case int32(Int32)
  case uint32(UInt32)
  case int64(Int64)
  case uint64(UInt64)
  case double(Double)
  case string(String)
  case objectPath(String)
  case signature(String)
  case descriptor(BusDescriptor)
  /// Elements of one signature, which an empty array has, too.
  case array(of: String, [BusValue])
  case structure([BusValue])
  /// An element of an array that is a dictionary.
  indirect case entry(BusValue, BusValue)
  indirect case variant(BusValue)

  /// A dictionary of named variants (`a{sv}`), by which most interfaces pass properties and options.
  public static func properties(_ values: [String: BusValue]) -> BusValue {
    .array(of: "{sv}", values.sorted { $0.key < $1.key }.map { .entry(.string($0.key), .variant($0.value)) })
  }

  /// Nil for any other value. Entries that are not named variants are left out.
  public var properties: [String: BusValue]? {
    guard case .array(_, let entries) = self else { return nil }
    var values: [String: BusValue] = [:]
    for case .entry(.string(let name), .variant(let value)) in entries { values[name] = value }
    return values
  }

  public var signature: String {
    switch self {
    case .array(let element, _): "a\(element)"
    case .structure(let members): "(\(members.map(\.signature).joined()))"
    case .entry(let key, let value): "{\(key.signature)\(value.signature)}"
    default: String(UnicodeScalar(code))
    }
  }

  /// The type's character in signatures; for a structure and an entry, by which the library knows it.
  private var code: UInt8 {
    switch self {
    case .byte: UInt8(ascii: "y")
    case .boolean: UInt8(ascii: "b")
    case .int16: UInt8(ascii: "n")
    case .uint16: UInt8(ascii: "q")
    case .int32: UInt8(ascii: "i")
    case .uint32: UInt8(ascii: "u")
    case .int64: UInt8(ascii: "x")
    case .uint64: UInt8(ascii: "t")
    case .double: UInt8(ascii: "d")
    case .string: UInt8(ascii: "s")
    case .objectPath: UInt8(ascii: "o")
    case .signature: UInt8(ascii: "g")
    case .descriptor: UInt8(ascii: "h")
    case .array: UInt8(ascii: "a")
    case .structure: UInt8(ascii: "r")
    case .entry: UInt8(ascii: "e")
    case .variant: UInt8(ascii: "v")
    }
  }
}

/// A descriptor that came in a message, or goes out with one.
public final class BusDescriptor: Hashable, Sendable {
  private let descriptor: Descriptor

  public init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// For as long as this object lives.
  public var number: CInt { descriptor.number }

  /// A descriptor of the caller's own, for the same open file.
  public func duplicate() throws(SystemError) -> Descriptor { try descriptor.duplicate() }

  public static func == (one: BusDescriptor, other: BusDescriptor) -> Bool { one === other }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

// MARK: - In messages

extension BusValue {
  /// Returns false for a value that no message may have, where the library would end the process. The caller has checked
  /// the signature.
  func append(to iterator: inout DBusMessageIter) -> Bool {
    switch self {
    case .byte(let value): append(value, to: &iterator)
    case .boolean(let value): append(dbus_bool_t(value ? 1 : 0), to: &iterator)
    case .int16(let value): append(value, to: &iterator)
    case .uint16(let value): append(value, to: &iterator)
    case .int32(let value): append(value, to: &iterator)
    case .uint32(let value): append(value, to: &iterator)
    case .int64(let value): append(value, to: &iterator)
    case .uint64(let value): append(value, to: &iterator)
    case .double(let value): append(value, to: &iterator)
    case .string(let text): append(text, to: &iterator)
    case .objectPath(let path): dbus_validate_path(path, nil) != 0 && append(path, to: &iterator)
    case .signature(let text): dbus_signature_validate(text, nil) != 0 && append(text, to: &iterator)
    case .descriptor(let descriptor): append(descriptor.number, to: &iterator)
    case .array(let element, let values):
      values.allSatisfy { $0.signature == element } && append(values, of: element, to: &iterator)
    case .structure(let members): append(members, of: nil, to: &iterator)
    case .entry(let key, let value): append([key, value], of: nil, to: &iterator)
    case .variant(let value):
      dbus_signature_validate_single(value.signature, nil) != 0
        && append([value], of: value.signature, to: &iterator)
    }
  }

  private func append(_ value: some BitwiseCopyable, to iterator: inout DBusMessageIter) -> Bool {
    withUnsafePointer(to: value) { dbus_message_iter_append_basic(&iterator, CInt(code), $0) != 0 }
  }

  private func append(_ text: String, to iterator: inout DBusMessageIter) -> Bool {
    text.withCString { (text: UnsafePointer<CChar>?) in append(text, to: &iterator) }
  }

  private func append(_ values: [BusValue], of signature: String?, to iterator: inout DBusMessageIter) -> Bool {
    var inner = DBusMessageIter()
    guard dbus_message_iter_open_container(&iterator, CInt(code), signature, &inner) != 0 else { return false }
    guard values.allSatisfy({ $0.append(to: &inner) }) else {
      dbus_message_iter_abandon_container(&iterator, &inner)
      return false
    }
    return dbus_message_iter_close_container(&iterator, &inner) != 0
  }

  /// All values from here on, which the library has checked; nil where a descriptor could not be taken.
  static func all(in iterator: inout DBusMessageIter) -> [BusValue]? {
    var values: [BusValue] = []
    while dbus_message_iter_get_arg_type(&iterator) != 0 {
      guard let value = BusValue(&iterator) else { return nil }
      values.append(value)
      dbus_message_iter_next(&iterator)
    }
    return values
  }

  private init?(_ iterator: inout DBusMessageIter) {
    switch UInt8(dbus_message_iter_get_arg_type(&iterator)) {
    case UInt8(ascii: "y"): self = .byte(Self.basic(&iterator, 0))
    case UInt8(ascii: "b"): self = .boolean(Self.basic(&iterator, dbus_bool_t(0)) != 0)
    case UInt8(ascii: "n"): self = .int16(Self.basic(&iterator, 0))
    case UInt8(ascii: "q"): self = .uint16(Self.basic(&iterator, 0))
    case UInt8(ascii: "i"): self = .int32(Self.basic(&iterator, 0))
    case UInt8(ascii: "u"): self = .uint32(Self.basic(&iterator, 0))
    case UInt8(ascii: "x"): self = .int64(Self.basic(&iterator, 0))
    case UInt8(ascii: "t"): self = .uint64(Self.basic(&iterator, 0))
    case UInt8(ascii: "d"): self = .double(Self.basic(&iterator, 0))
    case UInt8(ascii: "s"): self = .string(Self.text(&iterator))
    case UInt8(ascii: "o"): self = .objectPath(Self.text(&iterator))
    case UInt8(ascii: "g"): self = .signature(Self.text(&iterator))
    case UInt8(ascii: "h"):
      // The library hands out a duplicate, which is the caller's.
      let number = Self.basic(&iterator, CInt(-1))
      guard number >= 0 else { return nil }
      self = .descriptor(BusDescriptor(Descriptor(owning: number)))
    case let container:
      var inner = DBusMessageIter()
      dbus_message_iter_recurse(&iterator, &inner)
      guard let signature = Self.signature(&iterator), let values = Self.all(in: &inner) else { return nil }
      switch container {
      case UInt8(ascii: "a"): self = .array(of: String(signature.dropFirst()), values)
      case UInt8(ascii: "r"): self = .structure(values)
      case UInt8(ascii: "e"): self = .entry(values[0], values[1])
      default: self = .variant(values[0])
      }
    }
  }

  private static func basic<Value: BitwiseCopyable>(_ iterator: inout DBusMessageIter, _ initial: Value) -> Value {
    var value = initial
    dbus_message_iter_get_basic(&iterator, &value)
    return value
  }

  private static func text(_ iterator: inout DBusMessageIter) -> String {
    basic(&iterator, UnsafePointer<CChar>?.none).map { String(cString: $0) } ?? ""
  }

  private static func signature(_ iterator: inout DBusMessageIter) -> String? {
    guard let text = dbus_message_iter_get_signature(&iterator) else { return nil }
    defer { dbus_free(text) }
    return String(cString: text)
  }
}
