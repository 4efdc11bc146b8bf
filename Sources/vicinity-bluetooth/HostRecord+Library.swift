internal import BluetoothServer
internal import CBluetooth
internal import Wire

extension HostRecord {
  /// Puts its attributes into a record of the library, which copies them, but for the lists: those stay for as long as the
  /// process, which has one record.
  func fill(_ record: UnsafeMutablePointer<sdp_record_t>) {
    let uuids = UnsafeMutablePointer<uuid_t>.allocate(capacity: 4)
    sdp_uuid128_create(&uuids[0], Self.service)
    sdp_uuid16_create(&uuids[1], UInt16(L2CAP_UUID))
    sdp_uuid16_create(&uuids[2], UInt16(RFCOMM_UUID))
    sdp_uuid16_create(&uuids[3], UInt16(PUBLIC_BROWSE_GROUP))
    sdp_set_service_classes(record, sdp_list_append(nil, &uuids[0]))
    sdp_set_browse_groups(record, sdp_list_append(nil, &uuids[3]))
    var channel = channel
    var rfcomm = sdp_list_append(nil, &uuids[2])
    rfcomm = sdp_list_append(rfcomm, sdp_data_alloc(UInt8(SDP_UINT8), &channel))
    var protocols = sdp_list_append(nil, sdp_list_append(nil, &uuids[1]))
    protocols = sdp_list_append(protocols, rfcomm)
    sdp_set_access_protos(record, sdp_list_append(nil, protocols))
    sdp_set_info_attr(record, Self.name, nil, nil)
    _ = host.text.withCString { sdp_attr_add(record, Self.hostAttribute, sdp_data_alloc(UInt8(SDP_TEXT_STR8), $0)) }
  }
}
