internal import CDBus

/// A message of the library's, which lives as long as this.
struct BusMessage: ~Copyable {
  let pointer: OpaquePointer

  /// Takes the caller's reference.
  init(owning pointer: OpaquePointer) { self.pointer = pointer }

  init(retaining pointer: OpaquePointer) {
    dbus_message_ref(pointer)
    self.pointer = pointer
  }

  deinit { dbus_message_unref(pointer) }

  /// Nil where a name, the path or an argument is not valid.
  static func call(
    _ service: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue]
  ) -> BusMessage? {
    guard dbus_validate_bus_name(service, nil) != 0, isValid(path, interface, member),
      let pointer = dbus_message_new_method_call(service, path, interface, member)
    else { return nil }
    return BusMessage(owning: pointer).with(arguments)
  }

  /// The same for a signal, to one connection or to all that have asked for it.
  static func signal(
    _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue], to destination: String?
  ) -> BusMessage? {
    guard isValid(path, interface, member), destination.map({ dbus_validate_bus_name($0, nil) != 0 }) ?? true,
      let pointer = dbus_message_new_signal(path, interface, member)
    else { return nil }
    let message = BusMessage(owning: pointer)
    guard dbus_message_set_destination(pointer, destination) != 0 else { return nil }
    return message.with(arguments)
  }

  private static func isValid(_ path: String, _ interface: String, _ member: String) -> Bool {
    dbus_validate_path(path, nil) != 0 && dbus_validate_interface(interface, nil) != 0
      && dbus_validate_member(member, nil) != 0
  }

  consuming func with(_ arguments: [BusValue]) -> BusMessage? {
    guard dbus_signature_validate(arguments.map(\.signature).joined(), nil) != 0 else { return nil }
    var iterator = DBusMessageIter()
    dbus_message_iter_init_append(pointer, &iterator)
    guard arguments.allSatisfy({ $0.append(to: &iterator) }) else { return nil }
    return self
  }

  var arguments: [BusValue]? {
    var iterator = DBusMessageIter()
    guard dbus_message_iter_init(pointer, &iterator) != 0 else { return [] }
    return BusValue.all(in: &iterator)
  }

  var type: CInt { dbus_message_get_type(pointer) }
  var replySerial: UInt32 { dbus_message_get_reply_serial(pointer) }
  /// The unique name that the bus has put in.
  var sender: String { Self.text(dbus_message_get_sender(pointer)) }
  var path: String { Self.text(dbus_message_get_path(pointer)) }
  var interface: String { Self.text(dbus_message_get_interface(pointer)) }
  var member: String { Self.text(dbus_message_get_member(pointer)) }
  var errorName: String { Self.text(dbus_message_get_error_name(pointer)) }
  var wantsNoReply: Bool { dbus_message_get_no_reply(pointer) != 0 }

  private static func text(_ text: UnsafePointer<CChar>?) -> String { text.map { String(cString: $0) } ?? "" }
}
