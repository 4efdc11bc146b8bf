# Functions that the jobs of the radio lab share. They run as root in the lab's machine.
RESULT=0

# passes NAME COMMAND…: runs the command, and says how it went.
passes() {
  local name=$1
  shift
  if "$@"; then echo "PASS $name"; else
    echo "FAIL $name"
    RESULT=1
  fi
}

say() { echo "[$(cut -d' ' -f1 /proc/uptime)] $*"; }

# eventually SECONDS COMMAND…: whether the command succeeds within that time. Tries are counted, ten for each second, so that a
# machine that is slowed down by others has as many of them.
eventually() {
  local tries=$(($1 * 10))
  shift
  while [ "$tries" -gt 0 ]; do
    "$@" >/dev/null 2>&1 && return 0
    tries=$((tries - 1))
    sleep 0.1
  done
  echo "not within its time: $*"
  return 1
}

# host NAME [RADIO]: a host with a network, a /run and a /tmp of its own, and perhaps one of the radios.
host() {
  ip netns add "$1"
  # shellcheck disable=SC2016
  ip netns exec "$1" unshare -m sh -c '
    mount --make-rprivate / && mount -t tmpfs run /run && mount -t tmpfs tmp /tmp && mkdir -p /run/dbus /run/avahi-daemon
    ip link set lo up && : >/run/up && exec sleep 100000' &
  eval "HOST_$1=$!"
  eventually 10 on "$1" test -f /run/up
  [ -z "${2:-}" ] || iw phy "$(cat "/sys/class/net/$2/phy80211/name")" set netns "$(eval echo "\$HOST_$1")"
}

# on HOST COMMAND…
on() {
  local process
  process=$(eval echo "\$HOST_$1")
  shift
  nsenter -t "$process" -m -n "$@"
}

radios() {
  modprobe -a ccm cmac gcm cfg80211 mac80211
  modprobe mac80211_hwsim "radios=$1"
  eventually 10 test -d "/sys/class/net/wlan$(($1 - 1))"
}

# controllers COUNT: virtual Bluetooth controllers hci0 to the last, within reach of each other, and the machine's D-Bus and
# bluetoothd. They are paired in advance: btvirt does not pair well.
controllers() {
  local one other
  modprobe -a drbg ecdh_generic algif_hash algif_skcipher cmac bluetooth rfcomm bnep hci_vhci
  printf '[General]\nControllerMode = bredr\nDiscoverableTimeout = 0\n[Policy]\nAutoEnable=true\n' >/etc/bluetooth/main.conf
  for one in $(seq 0 $(($1 - 1))); do
    for other in $(seq 0 $(($1 - 1))); do
      [ "$one" = "$other" ] || pair "$(controller "$one")" "$(controller "$other")"
    done
  done
  dbus-daemon --system --nopidfile --fork
  eventually 10 test -S /run/dbus/system_bus_socket
  btvirt "-l$1" >/tmp/btvirt.log 2>&1 &
  eventually 20 test -d "/sys/class/bluetooth/hci$(($1 - 1))"
  bluetooth_daemon
  for one in $(seq 0 $(($1 - 1))); do
    eventually 30 sh -c "hciconfig hci$one | grep -q 'UP RUNNING'"
    hciconfig "hci$one" piscan
  done
  bt-agent -c NoInputNoOutput >/tmp/agent.log 2>&1 &
  eventually 20 grep -q 'Default agent requested' /tmp/agent.log
}

bluetooth_daemon() {
  bluetoothd -n >/tmp/bluetoothd.log 2>&1 &
  BLUETOOTHD=$!
}

# controller NUMBER: the address that btvirt gives it.
controller() { printf '00:AA:01:%02X:00:%02X' "$1" "$1"; }

# pair OWN OTHER: the key of a bond, as bluetoothd keeps it; it is btvirt's constant one.
pair() {
  mkdir -p "/var/lib/bluetooth/$1/$2"
  printf '[General]\nName=other\nSupportedTechnologies=BR/EDR;\nTrusted=true\nBlocked=false\n' >"/var/lib/bluetooth/$1/$2/info"
  printf '[LinkKey]\nKey=00010203040506070809000102030405\nType=7\nPINLength=0\n' >>"/var/lib/bluetooth/$1/$2/info"
}

# bus HOST: the host's own D-Bus.
bus() {
  on "$1" dbus-daemon --system --nopidfile --fork
  eventually 10 on "$1" test -S /run/dbus/system_bus_socket
}

# discovery HOST INTERFACE: Avahi, on this interface.
discovery() {
  printf '[server]\nhost-name=%s\nallow-interfaces=%s\nratelimit-interval-usec=1000000\nratelimit-burst=1000\n' "$1" "$2" |
    on "$1" sh -c 'cat >/tmp/avahi.conf'
  printf '[publish]\npublish-workstation=no\n[rlimits]\n' | on "$1" sh -c 'cat >>/tmp/avahi.conf'
  on "$1" sh -c 'avahi-daemon --no-drop-root --no-chroot --no-rlimits -f /tmp/avahi.conf >/tmp/avahi.log 2>&1 &'
  eventually 20 on "$1" test -S /run/avahi-daemon/socket
}

# silence HOST: ends its Avahi.
silence() {
  on "$1" sh -c 'kill "$(cat /run/avahi-daemon/pid)"'
  eventually 10 on "$1" sh -c '! test -e /run/avahi-daemon/pid'
}

# radio HOST ARGUMENTS…: makes a network, and returns once it is up. The program's number and words lie in /tmp of the host.
radio() {
  local host=$1
  shift
  # The events of the host's former network must not be read as those of this one.
  on "$host" rm -f /tmp/radio.said
  # shellcheck disable=SC2016
  on "$host" sh -c 'echo $$ >/tmp/radio.pid; exec /share/vicinity radio "$@" --json >/tmp/radio.said 2>/tmp/radio.failed' _ "$@" &
  eval "RADIO_$host=$!"
  eventually 60 on "$host" grep -q '"event":"network"' /tmp/radio.said && return 0
  on "$host" cat /tmp/radio.said /tmp/radio.failed
  return 1
}

# said HOST FIELD: a text of what the network is.
said() { on "$1" sed -n "s/.*\"event\":\"network\".*\"$2\":\"\([^\"]*\)\".*/\1/p" /tmp/radio.said; }

# end HOST SIGNAL: sends the radio's program a signal, and is true where that has ended it.
end() {
  on "$1" sh -c "kill -$2 \$(cat /tmp/radio.pid)"
  eval "wait \$RADIO_$1"
  [ $? -gt 128 ]
}

# meet NAME [MEDIUM_A MEDIUM_B]: Bert, on the host B, is found, invited and sent a message and a file by Anna, on the host A.
meet() {
  local medium_a=${2:-lan} medium_b=${3:-lan}
  on B sh -c "mkdir -p /tmp/$1 && exec /share/vicinity receive radio --medium $medium_b --accept --once --name Bert --keys ephemeral --json \
    --to-folder /tmp/$1 >/tmp/$1.said 2>&1" &
  local receiver=$! before
  eventually 30 on B grep -q '"event":"started"' "/tmp/$1.said"
  on A dd if=/dev/urandom of=/tmp/photo bs=1M count=4 2>/dev/null
  before=$(cut -d' ' -f1 /proc/uptime)
  passes "$1: a peer is found, invited, and takes a message and a file" \
    on A timeout 300 /share/vicinity send radio Bert --medium "$medium_a" --message 'Soup is ready' --file /tmp/photo --keys ephemeral
  say "$1: from the start of the program to its end since $before"
  wait "$receiver"
  passes "$1: the message is there" on B grep -q 'Soup is ready' "/tmp/$1.said"
  passes "$1: the file is the same" \
    test "$(on A sh -c 'sha256sum </tmp/photo')" = "$(on B sh -c "sha256sum <'/tmp/$1/photo'")"
}

# chat HOST TYPE NAME OPTIONS…: the host's chat, which `tell` tells what to do; its events lie in /tmp/said.
chat() {
  local host=$1
  shift
  on "$host" sh -c 'rm -f /tmp/say && mkfifo /tmp/say && mkdir -p /tmp/files && : >/tmp/said'
  # shellcheck disable=SC2016
  on "$host" sh -c 'echo $$ >/tmp/chat.pid
    type=$1; shift
    exec /share/vicinity chat "$type" --accept --json --keys ephemeral --to-folder /tmp/files --name "$@" <>/tmp/say >/tmp/said 2>/tmp/failed' \
    _ "$@" &
  eventually 60 happened "$host" '"event":"started"'
}

# shellcheck disable=SC2016
tell() { on "$1" sh -c 'printf "%s\n" "$1" >/tmp/say' _ "$2"; }

happened() { on "$1" grep -q "$2" /tmp/said; }

# says FROM TO TEXT: a message arrives.
says() {
  tell "$1" "say $3"
  eventually 30 happened "$2" "\"text\":\"$3\""
}

# over HOST MEDIUM: the link of its only member is of this medium.
over() {
  tell "$1" peers
  sleep 0.2
  on "$1" sh -c 'grep "\"event\":\"peers\"" /tmp/said | tail -n 1' | grep -q "\"medium\":\"$2\""
}

hundredths() { sed 's/ .*//; s/\.//' /proc/uptime; }

# lan HOST OTHER: a cable between them, with Avahi on it.
lan() {
  ip link add "lan$1" type veth peer name "lan$2"
  for each in "$1" "$2"; do
    ip link set "lan$each" netns "$(eval echo "\$HOST_$each")"
    on "$each" ip link set "lan$each" up
    bus "$each"
    discovery "$each" "lan$each"
  done
}

# end_chats HOST…
end_chats() {
  # shellcheck disable=SC2016
  for each in "$@"; do on "$each" sh -c 'kill "$(cat /tmp/chat.pid)"'; done
  for each in "$@"; do eventually 30 ended "$each" || return 1; done
}

ended() { [ ! -e "/proc/$(on "$1" cat /tmp/chat.pid)/exe" ]; }

# processes PROGRAM: the numbers of those that run it.
processes() {
  local process
  for process in /proc/[0-9]*; do
    [ "$(readlink "$process/exe")" != "/share/$1.program" ] || echo "${process#/proc/}"
  done
}

finish() { exit "$RESULT"; }
