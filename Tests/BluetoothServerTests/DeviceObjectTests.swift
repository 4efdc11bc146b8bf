import BluetoothProtocol
import Testing

@testable import BluetoothServer

@Suite struct DeviceObjectTests {
  @Test func `An object names the adapter and the device`() throws {
    let object = try #require(DeviceObject("/org/bluez/hci12/dev_00_AA_01_00_00_42"))
    #expect(object.adapter == "hci12" && object.device == BluetoothAddress(0x00AA_0100_0042))
  }

  @Test(arguments: [
    "", "/", "/org/bluez/hci0", "/org/bluez/dev_00_AA_01_00_00_42", "/org/bluez/hci0/dev_00_AA_01_00_00",
    "/org/bluez/hci0/dev_00_AA_01_00_00_4", "/org/bluez/hci0/dev_00_AA_01_00_00_4G", "/org/bluez/hci0/dev_00AA01000042",
    "/org/bluez/hci0/dev_00_AA_01_00_00_42/service0001", "org/bluez/hci0/dev_00_AA_01_00_00_42",
    "/org/other/hci0/dev_00_AA_01_00_00_42", "/org/bluez/hci0/dev_00_AA_01_00_00_42_00",
  ]) func `Other paths are no devices`(_ path: String) {
    #expect(DeviceObject(path) == nil)
  }
}
