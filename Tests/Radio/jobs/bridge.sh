# A bridge: one host has Bluetooth alone, another the LAN alone, and a third both, through which they find each other and talk. Then the
# first one's adapter is turned off by rfkill and on again, and bluetoothd is started again.
. /share/jobs/kit.sh

controllers 2
host A
host B
host C
lan B C

# told HOST EVENT: how often the host said so.
told() { on "$1" grep -c "\"event\":\"$2\"" /tmp/said; }

file() {
  on A dd if=/dev/urandom of=/tmp/photo bs=1M count=1 2>/dev/null
  tell A 'send /tmp/photo'
  eventually 120 happened A '"event":"resourceEnded"' || return 1
  test "$(on A sh -c 'sha256sum </tmp/photo')" = "$(on B sh -c 'sha256sum </tmp/files/photo')"
}

# block VALUE: the switch of A's adapter.
block() { for each in /sys/class/bluetooth/hci0/rfkill*/soft; do echo "$1" >"$each"; done; }

# The pairs end, as the time is longer than a suspension, and begin again.
switched() {
  local before
  before=$(told A connected)
  block 1
  eventually 60 happened A '"event":"notConnected"' || return 1
  happened A '"event":"warning"' || return 1
  block 0
  hciconfig hci0 up
  hciconfig hci0 piscan
  eventually 120 more A connected "$before" && says A B 'after the switch'
}

more() { [ "$(told "$1" "$2")" -gt "$3" ]; }

# Links stand without the daemon, and a host that comes later finds this one by the record that the new daemon has.
restarted() {
  # On its way out by itself it would power the adapters off.
  kill -KILL "$BLUETOOTHD"
  wait "$BLUETOOTHD"
  says A B 'without the daemon' || return 1
  bluetooth_daemon
  hciconfig hci0 piscan
  hciconfig hci1 piscan
  says B A 'with a new one'
}

found_anew() {
  end_chats C || return 1
  chat C radio Carl --medium bluetooth:hci1
  eventually 120 happened C '"event":"connected"'
}

chat C bridge Carl --medium bluetooth:hci1 --medium lan --medium relay
chat B radio Bert --medium lan --medium relay
chat A radio Anna --medium bluetooth:hci0 --medium relay
passes "bridge: they are connected, without a common medium" eventually 120 happened A '"event":"connected"'
passes "bridge: the link goes through the third host" eventually 20 over A relay
passes "bridge: messages go both ways" eval "says A B 'Soup is ready' && says B A 'I come'"
passes "bridge: a file arrives" file
passes "bridge: an adapter is turned off and on" switched
passes "bridge: bluetoothd ends and begins" restarted
passes "bridge: a host is found by the record of the new bluetoothd" found_anew
on C tail -n 3 /tmp/said
for each in A B C; do on "$each" tail -n 3 /tmp/failed; done
finish
