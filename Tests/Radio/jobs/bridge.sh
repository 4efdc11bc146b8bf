# A bridge: one host has Bluetooth alone, another the LAN alone, and a third member both, through which the two talk. Then the first
# one's adapter is turned off by rfkill and on again, and bluetoothd is started again.
. /share/jobs/kit.sh

controllers 2
host A
host B
host C
lan B C

file() {
  on A dd if=/dev/urandom of=/tmp/photo bs=1M count=1 2>/dev/null
  tell A 'send /tmp/photo to Bert'
  eventually 120 happened A '"event":"resourceEnded"' || return 1
  test "$(on A sh -c 'sha256sum </tmp/photo')" = "$(on B sh -c 'sha256sum </tmp/files/photo')"
}

# block VALUE: the switch of A's adapter.
block() { for each in /sys/class/bluetooth/hci0/rfkill*/soft; do echo "$1" >"$each"; done; }

# The pairs end, as the time is longer than a suspension, and begin again.
switched() {
  local before
  before=$(connections)
  block 1
  eventually 60 happened A '"event":"notConnected"' || return 1
  happened A '"event":"warning"' || return 1
  block 0
  hciconfig hci0 up
  hciconfig hci0 piscan
  eventually 120 more "$before" && says A B 'after the switch'
}

# How often A was connected with B.
connections() { on A grep -c '"event":"connected".*"name":"Bert"' /tmp/said; }

more() { [ "$(connections)" -gt "$1" ]; }

# Links stand without the daemon, and a host that comes later finds this one by the record that the new daemon has.
restarted() {
  # On its way out by itself it would power the adapters off.
  kill -KILL "$BLUETOOTHD"
  wait "$BLUETOOTHD"
  says A B 'without the daemon' || return 1
  bluetooth_daemon
  for each in hci0 hci1; do
    # It makes them invisible as it begins.
    eventually 30 powered "$each" || return 1
    hciconfig "$each" piscan
  done
  says B A 'with a new one'
}

# Whether bluetoothd has an adapter.
powered() {
  dbus-send --system --print-reply --dest=org.bluez "/org/bluez/$1" org.freedesktop.DBus.Properties.Get \
    string:org.bluez.Adapter1 string:Powered | grep -q 'boolean true'
}

found_anew() {
  end_chats C || return 1
  chat C radio Carl --medium bluetooth:hci1
  eventually 120 happened C '"event":"connected"'
}

chat C radio Carl --medium bluetooth:hci1 --medium lan
chat B radio Bert --medium lan
chat A radio Anna --medium bluetooth:hci0
passes "P-SES-8 bridge: two members are connected, without a common medium" \
  eventually 120 happened A '"event":"connected".*"name":"Bert"'
expect_so_far A B C
passes "P-SES-8 bridge: their link goes through the third member" eventually 20 over A relay
passes "P-SES-8 bridge: messages go both ways" eval "says A B 'Soup is ready' && says B A 'I come'"
passes "P-SES-8 bridge: a file arrives" file
passes "P-NET-2 bridge: an adapter is turned off and on" switched
passes "P-NET-2 bridge: bluetoothd ends and begins" restarted
passes "P-NET-2 bridge: a host is found by the record of the new bluetoothd" found_anew
on C tail -n 3 /tmp/said
for each in A B C; do on "$each" tail -n 3 /tmp/failed; done
finish
