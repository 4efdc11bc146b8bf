# Wi-Fi without an access point: hosts in a mesh (802.11s), then in a group of Wi-Fi Direct, find each other and talk.
. /share/jobs/kit.sh

radios 2
host A wlan0
host B wlan1

mesh() {
  for each in "A wlan0 1" "B wlan1 2"; do
    # shellcheck disable=SC2086
    set -- $each
    on "$1" iw dev "$2" set type mp
    on "$1" ip link set "$2" up
    on "$1" iw dev "$2" mesh join vicinity freq 2412
    on "$1" ip addr add "10.2.0.$3/24" dev "$2"
  done
  eventually 20 on A ping -c1 -W1 10.2.0.2
}

leave_mesh() {
  for each in "A wlan0" "B wlan1"; do
    # shellcheck disable=SC2086
    set -- $each
    silence "$1"
    on "$1" iw dev "$2" mesh leave
    on "$1" ip link set "$2" down
    on "$1" iw dev "$2" set type managed
    on "$1" ip addr flush dev "$2"
  done
}

supplicant() {
  printf 'ctrl_interface=/run/wpa_supplicant\ndevice_name=%s\ndevice_type=1-0050F204-1\ncountry=US\np2p_no_group_iface=1\n' "$1" |
    on "$1" sh -c 'cat >/tmp/wpa.conf'
  on "$1" wpa_supplicant -B -i "$2" -D nl80211 -c /tmp/wpa.conf -f /tmp/wpa.log
  eventually 10 on "$1" wpa_cli -i "$2" ping
}

connected() { on "$1" wpa_cli -i "$2" status | grep -q '^wpa_state=COMPLETED'; }

# An autonomous group owner, and a device that joins as plain Wi-Fi, by the name and the password of the group.
group() {
  supplicant A wlan0
  supplicant B wlan1
  on A wpa_cli -i wlan0 p2p_group_add freq=2412 >/dev/null
  eventually 15 connected A wlan0 || return 1
  ssid=$(on A wpa_cli -i wlan0 status | sed -n 's/^ssid=//p')
  password=$(on A wpa_cli -i wlan0 p2p_get_passphrase)
  network=$(on B wpa_cli -i wlan1 add_network)
  on B wpa_cli -i wlan1 set_network "$network" ssid "\"$ssid\"" >/dev/null
  on B wpa_cli -i wlan1 set_network "$network" psk "\"$password\"" >/dev/null
  on B wpa_cli -i wlan1 select_network "$network" >/dev/null
  eventually 30 connected B wlan1 || return 1
  on A ip addr add 10.3.0.1/24 dev wlan0
  on B ip addr add 10.3.0.2/24 dev wlan1
  eventually 20 on A ping -c1 -W1 10.3.0.2
}

passes "mesh: both hosts are in it" mesh
discovery A wlan0
discovery B wlan1
meet mesh
leave_mesh
passes "group: a device joins it as plain Wi-Fi" group
discovery A wlan0
discovery B wlan1
meet group
finish
