internal import CAvahi

/// A failed call of Avahi: its number, and its meaning to a person.
struct AvahiError: Error, Hashable {
  let code: CInt

  init(_ code: CInt) { self.code = code }

  init(of client: OpaquePointer) { code = avahi_client_errno(client) }

  /// Somebody on this machine has the name already.
  var isCollision: Bool { code == CInt(AVAHI_ERR_COLLISION) }

  /// The daemon has as many objects for this client as it allows.
  var isTooMany: Bool { code == CInt(AVAHI_ERR_TOO_MANY_OBJECTS) }

  var text: String { avahi_strerror(code).map { String(cString: $0) } ?? "error \(code)" }

  static let noDaemon = Trouble(
    cause: "The Avahi daemon, through which hosts find each other on a LAN, does not run.",
    cure: "Install it with 'apt install avahi-daemon' and start it with 'systemctl start avahi-daemon', "
      + "or give the addresses of other hosts by hand.")

  /// The problem with a connection to the daemon.
  var connecting: Trouble {
    switch Int(code) {
    case AVAHI_ERR_DBUS_ERROR, AVAHI_ERR_NO_DAEMON, AVAHI_ERR_DISCONNECTED:
      Trouble(
        cause: "There is no D-Bus system bus, over which the Avahi daemon is reached (\(text)).",
        cure: "Install both with 'apt install dbus avahi-daemon' and start them, share the folder /run/dbus with a "
          + "container, or give the addresses of other hosts by hand.")
    case AVAHI_ERR_ACCESS_DENIED:
      Trouble(
        cause: "D-Bus does not let this user talk to the Avahi daemon.",
        cure: "Allow it in the bus's policy, /etc/dbus-1/system.d/avahi-dbus.conf, or run as a user who may.")
    case AVAHI_ERR_VERSION_MISMATCH:
      Trouble(
        cause: "The Avahi daemon is of a version that its client library does not know.",
        cure: "Upgrade avahi-daemon and libavahi-client3 together, and restart the daemon.")
    default:
      Trouble(
        cause: "The Avahi daemon cannot be reached: \(text).",
        cure: "See what it says itself with 'journalctl -u avahi-daemon', and restart it.")
    }
  }

  /// Every name that was tried for a record belongs to somebody else.
  static let collisions = Trouble(
    cause: "Somebody on the network has each name under which the record was to be published.",
    cure: "Find who answers for every name, as with 'avahi-browse -a -r', and stop it; other names are tried meanwhile."
  )

  var publishing: Trouble {
    switch Int(code) {
    case AVAHI_ERR_TOO_MANY_ENTRIES, AVAHI_ERR_TOO_MANY_OBJECTS:
      Trouble(
        cause: "The Avahi daemon allows no more records: \(text).",
        cure: "Raise 'objects-per-client-max' and 'entries-per-entry-group-max' in /etc/avahi/avahi-daemon.conf and "
          + "restart the daemon, or advertise less.")
    case AVAHI_ERR_INVALID_SERVICE_TYPE:
      Trouble(
        cause: "The Avahi daemon does not take the service type.",
        cure: "Use one of two to fifteen characters: the daemon refuses shorter ones, though they are legal.")
    case AVAHI_ERR_NOT_PERMITTED:
      Trouble(
        cause: "The Avahi daemon lets no program publish records.",
        cure: "Remove 'disable-publishing' and 'disable-user-service-publishing' from /etc/avahi/avahi-daemon.conf "
          + "and restart the daemon.")
    default:
      Trouble(
        cause: "The Avahi daemon does not publish the record: \(text).",
        cure: "See what it says itself with 'journalctl -u avahi-daemon'.")
    }
  }

  var looking: Trouble {
    switch Int(code) {
    case AVAHI_ERR_INVALID_SERVICE_TYPE: publishing
    case AVAHI_ERR_TOO_MANY_OBJECTS:
      Trouble(
        cause: "The Avahi daemon allows no more searches: \(text).",
        cure: "Raise 'objects-per-client-max' in /etc/avahi/avahi-daemon.conf and restart the daemon.")
    default:
      Trouble(
        cause: "The Avahi daemon does not look for the service type: \(text).",
        cure: "See what it says itself with 'journalctl -u avahi-daemon'.")
    }
  }
}
