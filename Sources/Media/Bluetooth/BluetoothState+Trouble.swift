internal import BluetoothProtocol

extension BluetoothState {
  /// The cause and the cure of its fault, for people.
  var trouble: Trouble? {
    switch fault {
    case nil: nil
    case .noSockets:
      Trouble(
        cause: "This system gives vicinity-bluetooth no Bluetooth sockets.",
        cure:
          "Load the kernel's module (modprobe bluetooth rfcomm); in a container, use the machine's network namespace.")
    case .noAdapter:
      Trouble(
        cause: "This machine has no Bluetooth adapter, or not the one that was named.",
        cure: "Plug one in, or see 'bluetoothctl list' and the kernel's log.")
    case .isBlocked:
      Trouble(
        cause: "Bluetooth is turned off by rfkill.",
        cure: "Turn it on: 'rfkill unblock bluetooth', or the machine's switch.")
    case .isDown:
      Trouble(cause: "The Bluetooth adapter is turned off.", cure: "Turn it on: 'bluetoothctl power on'.")
    case .isNotAnnounced:
      Trouble(
        cause: "The Bluetooth daemon does not announce this host, so others do not find it by Bluetooth.",
        cure: "Start it: 'systemctl start bluetooth'.")
    case .isNotDiscoverable:
      Trouble(
        cause: "Other devices do not see this Bluetooth adapter, so hosts that do not know this one do not find it.",
        cure: "Make it visible: 'bluetoothctl discoverable on'.")
    }
  }
}
