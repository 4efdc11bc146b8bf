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

# Whether figures have to meet their goals: not beside other work, on a machine of which nobody knows how fast it is.
measures() { [ -e /share/measure ]; }

# figure NAME VALUE UNIT [GOAL]: a figure and its goal, such as "<= 6". It is only shown without a goal, or where nothing is measured.
figure() {
  local result="${2:-nothing} $3"
  if [ -z "${4:-}" ] || ! measures; then
    echo "FIGURE $1: $result${4:+, goal $4}"
  elif [ -n "$2" ] && awk "BEGIN { exit !($2 $4) }"; then
    echo "PASS $1: $result, goal $4"
  else
    echo "FAIL $1: $result, goal $4"
    RESULT=1
  fi
}

# calculate EXPRESSION: with two decimals; nothing where a value in it is missing.
calculate() { awk "BEGIN { printf \"%.2f\", $1 }" 2>/dev/null; }

# median VALUE…
median() { printf '%s\n' "$@" | sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

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

# host NAME [RADIO]: a host with this name, a network, a /run and a /tmp of its own, and perhaps one of the radios.
host() {
  ip netns add "$1"
  # shellcheck disable=SC2016
  ip netns exec "$1" unshare -m -u sh -c '
    hostname "$1" && mount --make-rprivate / && mount -t tmpfs run /run && mount -t tmpfs tmp /tmp && mkdir -p /run/dbus /run/avahi-daemon
    ip link set lo up && : >/run/up && exec sleep 100000' _ "$1" &
  eval "HOST_$1=$!"
  eventually 10 on "$1" test -f /run/up
  [ -z "${2:-}" ] || iw phy "$(cat "/sys/class/net/$2/phy80211/name")" set netns "$(eval echo "\$HOST_$1")"
}

# on HOST COMMAND…
on() {
  local process
  process=$(eval echo "\$HOST_$1")
  shift
  nsenter -t "$process" -m -u -n "$@"
}

radios() {
  modprobe -a ccm cmac gcm cfg80211 mac80211
  modprobe mac80211_hwsim "radios=$1"
  eventually 10 test -d "/sys/class/net/wlan$(($1 - 1))"
}

# controllers COUNT: virtual Bluetooth controllers hci0 to the last, within reach of each other, and what `bluetooth` begins.
controllers() {
  local last=$(($1 - 1))
  modprobe -a drbg ecdh_generic algif_hash algif_skcipher cmac bluetooth rfcomm bnep hci_vhci
  btvirt "-l$1" >/tmp/btvirt.log 2>&1 &
  eventually 20 test -d "/sys/class/bluetooth/hci$last"
  for each in $(seq 0 "$last"); do
    # shellcheck disable=SC2046
    bonds "$(controller "$each")" $(controllers_to "$last")
  done
  bluetooth "$1"
}

controllers_to() {
  for each in $(seq 0 "$1"); do
    controller "$each"
    echo
  done
}

# airborne: the controller that the machine has in the air of all machines, as hci0, and what `bluetooth` begins.
airborne() {
  modprobe -a drbg ecdh_generic algif_hash algif_skcipher cmac bluetooth rfcomm bnep hci_uart
  btattach -B /dev/hvc0 -P h4 >/tmp/btattach.log 2>&1 &
  eventually 30 has_address || cat /tmp/btattach.log
  # Those that the air gives, in the order in which machines come.
  bonds "$(own_address)" 00:AA:01:00:00:42 00:AA:01:01:00:42 00:AA:01:02:00:42
  bluetooth 1
}

has_address() { [ -n "$(own_address)" ]; }
own_address() { hciconfig hci0 | sed -n 's/.*BD Address: \(00:AA[0-9A-F:]*\).*/\1/p'; }

# bluetooth COUNT: the machine's D-Bus and bluetoothd, the first adapters visible, and an agent that lets all be paired.
bluetooth() {
  local last=$(($1 - 1))
  printf '[General]\nControllerMode = bredr\nDiscoverableTimeout = 0\n[Policy]\nAutoEnable=true\n' >/etc/bluetooth/main.conf
  dbus-daemon --system --nopidfile --fork
  eventually 10 test -S /run/dbus/system_bus_socket
  bluetooth_daemon
  for each in $(seq 0 "$last"); do
    eventually 30 sh -c "hciconfig hci$each | grep -q 'UP RUNNING'"
    hciconfig "hci$each" piscan
  done
  bt-agent -c NoInputNoOutput >/tmp/agent.log 2>&1 &
  eventually 20 grep -q 'Default agent requested' /tmp/agent.log
  say "$1 controllers"
}

bluetooth_daemon() {
  bluetoothd -n >/tmp/bluetoothd.log 2>&1 &
  BLUETOOTHD=$!
}

# controller NUMBER: the address that btvirt gives it.
controller() { printf '00:AA:01:%02X:00:%02X' "$1" "$1"; }

# bonds OWN OTHER…: the keys of bonds with the others, as bluetoothd keeps them, which it has from the start: btvirt does not pair
# well. A key is btvirt's constant one.
bonds() {
  local own=$1 folder
  shift
  for each in "$@"; do
    [ "$each" != "$own" ] || continue
    folder=/var/lib/bluetooth/$own/$each
    mkdir -p "$folder"
    printf '[General]\nName=other\nSupportedTechnologies=BR/EDR;\nTrusted=true\nBlocked=false\n' >"$folder/info"
    printf '[LinkKey]\nKey=00010203040506070809000102030405\nType=7\nPINLength=0\n' >>"$folder/info"
  done
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

# radio HOST ARGUMENTS…: makes a network, and returns once it is up, after RADIO_SECONDS. The program's number and words lie in /tmp of
# the host.
radio() {
  local host=$1 start
  shift
  start=$(now)
  # The events of the host's former network must not be read as those of this one.
  on "$host" rm -f /tmp/radio.said
  # shellcheck disable=SC2016
  on "$host" sh -c 'echo $$ >/tmp/radio.pid; exec /share/vicinity radio "$@" --json >/tmp/radio.said 2>/tmp/radio.failed' _ "$@" &
  eval "RADIO_$host=$!"
  if eventually 60 on "$host" grep -q '"event":"network"' /tmp/radio.said; then
    RADIO_SECONDS=$(between "$start" "$(at "$host" '"event":"network"' /tmp/radio.said)")
    return 0
  fi
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

# meet NAME: Bert, on the host B, is found, invited and sent a message and a file by Anna, on the host A. Their words lie in
# /tmp/NAME.said of each.
meet() {
  on B sh -c "mkdir -p /tmp/$1 && exec /share/vicinity receive radio --accept --once --name Bert --keys ephemeral --json \
    --to-folder /tmp/$1 >/tmp/$1.said 2>&1" &
  local receiver=$!
  eventually 30 on B grep -q '"event":"started"' "/tmp/$1.said"
  on A dd if=/dev/urandom of=/tmp/photo bs=1M count=4 2>/dev/null
  on A sh -c "exec timeout 300 /share/vicinity send radio Bert --message 'Soup is ready' --file /tmp/photo --keys ephemeral --json \
    >/tmp/$1.said 2>&1" || on A cat "/tmp/$1.said"
  wait "$receiver"
  on B grep -q 'Soup is ready' "/tmp/$1.said" || return 1
  test "$(on A sh -c 'sha256sum </tmp/photo')" = "$(on B sh -c "sha256sum <'/tmp/$1/photo'")"
}

# chat HOST TYPE NAME OPTIONS…: the host's chat, which `tell` tells what to do; its events lie in /tmp/said.
chat() {
  local host=$1
  shift
  say "chat on $host: $*"
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

# seconds: of the times of events, which it reads, those of their day.
seconds() { sed 's/.*"at":"[^T]*T\(..\):\(..\):\([0-9.]*\)Z".*/\1 \2 \3/' | awk '{ printf "%.3f\n", ($1 * 60 + $2) * 60 + $3 }'; }

# at HOST EVENT [FILE]: when the host first said it.
at() { on "$1" grep -m 1 "$2" "${3:-/tmp/said}" | seconds; }

now() { date -u '+"at":"T%H:%M:%S.%3NZ"' | seconds; }

# between START END: the seconds between two times.
between() { calculate "($2) - ($1) + (($2) < ($1)) * 86400"; }

# later TIME TIME, sooner TIME TIME: the one that is so, of those that there are.
later() { printf '%s\n' "$@" | sort -n | tail -n 1; }
sooner() { printf '%s\n' "$@" | grep . | sort -n | head -n 1; }

# says FROM TO TEXT: a message arrives.
says() {
  tell "$1" "say $3"
  eventually 30 happened "$2" "\"text\":\"$3\""
}

# over HOST MEDIUM: the link of a member is of this medium.
over() {
  tell "$1" peers
  sleep 0.2
  on "$1" sh -c 'grep "\"event\":\"peers\"" /tmp/said | tail -n 1' | grep -q "\"medium\":\"$2\""
}

# rounds HOST OTHER: the median round trip of a message between their chats, in milliseconds.
rounds() {
  local one other
  one=/proc/$(eval echo "\$HOST_$1")/root other=/proc/$(eval echo "\$HOST_$2")/root
  /share/rounds "$one/tmp/say" "$one/tmp/said" "$other/tmp/say" "$other/tmp/said"
}

# cell HOST INTERFACE: joins a network of Wi-Fi without an access point, whose cell is told, so that nobody has to look for it.
cell() {
  on "$1" iw dev "$2" set type ibss
  on "$1" ip link set "$2" up
  on "$1" iw dev "$2" ibss join cell 2437 fixed-freq 02:00:00:00:77:77
  bus "$1"
  discovery "$1" "$2"
}

# reach RADIO GROUP: which radios hear it: those of the same group.
reach() { echo "$2" >"/sys/kernel/debug/ieee80211/$1/hwsim/group"; }

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

# cable HOST: the machine's end of the cable between machines becomes the host's, with Avahi on it.
cable() {
  ip link set eth0 netns "$(eval echo "\$HOST_$1")"
  on "$1" ip link set eth0 up
  bus "$1"
  discovery "$1" eth0
}

# done_here THING, done_there THING: what one machine tells the others, and waits for.
done_here() { : >"/share/told/$1"; }
done_there() { eventually 240 test -e "/share/told/$1"; }

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

# wakes PROCESS…: how often their threads began to wait so far, which is how often they were woken.
wakes() {
  local process
  for process in "$@"; do cat "/proc/$process"/task/*/status; done | awk '/^voluntary_ctxt_switches/ { sum += $2 } END { print sum + 0 }'
}

# watch: notes what the controllers are told, until `watched` ends it.
watch() {
  btmon >/tmp/btmon.log 2>&1 &
  WATCH=$!
  sleep 2
}

watched() {
  kill -TERM "$WATCH"
  wait "$WATCH"
}

# inquired CONTROLLER: the seconds that its inquiries took while it was watched.
inquired() {
  awk -v "own=[$1]" '
    !index($0, own) { next }
    { last = $NF }
    /HCI Command: Inquiry \(/ { start = $NF }
    /HCI Event: Inquiry Complete \(/ || /HCI Command: Inquiry Cancel \(/ { if (start != "") sum += $NF - start; start = "" }
    END { if (start != "") sum += last - start; printf "%.2f\n", sum }' /tmp/btmon.log
}

# expect_so_far: where something has failed, nothing that follows can pass: the job ends with the last words of the chats.
expect_so_far() {
  [ "$RESULT" = 0 ] && return
  for each in "$@"; do
    echo "the last words on $each:"
    on "$each" tail -n 12 /tmp/said /tmp/failed
  done
  finish
}

finish() { exit "$RESULT"; }
