# Several adapters: host A has hci0 and hci1, and host B hci2. A finds B by both, and hci2 refuses connections of one of them at any
# time, since btvirt mixes up the packets of two connections to one controller. A connects by the other one; then each of them is turned
# off in turn, in a session and while A looks for B, and the other one is not refused any more.
. /share/jobs/kit.sh

controllers 3
host A
host B
OTHER=$(controller 2)

# set_property OBJECT INTERFACE PROPERTY true|false: of bluetoothd.
set_property() {
  dbus-send --system --print-reply --dest=org.bluez "/org/bluez/$1" \
    org.freedesktop.DBus.Properties.Set "string:org.bluez.$2" "string:$3" "variant:boolean:$4" >/dev/null
}

# refuse NUMBER true|false: whether hci2 refuses this controller, which goes on to find it.
refuse() { set_property "hci2/dev_$(controller "$1" | tr : _)" Device1 Blocked "$2"; }

# turn NUMBER on|off: as a person does; its connections end.
turn() {
  case $2 in
    on) set_property "hci$1" Adapter1 Powered true && eventually 20 hciconfig "hci$1" piscan ;;
    off) set_property "hci$1" Adapter1 Powered false ;;
  esac
}

# reaches ADAPTER: whether it connects with hci2.
reaches() { timeout 20 l2ping -i "$1" -c 1 -t 5 "$OTHER" >/dev/null 2>&1; }

# with_two COMMAND…: all adapters of A are those but hci2.
with_two() {
  LD_PRELOAD=/share/hide.so HIDDEN=2
  export LD_PRELOAD HIDDEN
  "$@"
  local result=$?
  unset LD_PRELOAD HIDDEN
  return "$result"
}

# receive: B waits, and neither looks for A nor connects with it; `end_chats` ends it.
receive() {
  on B sh -c ': >/tmp/said'
  # shellcheck disable=SC2016
  on B sh -c 'echo $$ >/tmp/chat.pid
    exec /share/vicinity receive radio --accept --name Bert --keys ephemeral --medium bluetooth:hci2 --json --to-folder /tmp/files \
      >/tmp/said 2>/tmp/failed' &
  eventually 60 happened B '"event":"started"'
}

# send TEXT: A looks for B, and sends it a message.
send() {
  # shellcheck disable=SC2016
  with_two on A sh -c 'exec timeout 120 /share/vicinity send radio Bert --message "$1" --keys ephemeral --medium bluetooth --json \
    >/tmp/said 2>/tmp/failed' _ "$1"
}

received() { eventually 30 happened B "\"text\":\"$1\"" && end_chats B; }

# The adapter by which A has its link with B: another one may search for B meanwhile, and then none is told.
carrier() {
  CARRIER=
  for each in hci0 hci1; do
    hcitool -i "$each" con | grep -q "$OTHER" || continue
    [ -z "$CARRIER" ] || return 1
    CARRIER=$each
  done
  [ -n "$CARRIER" ]
}

# changes FROM TO: the adapter of the link is turned off, and the session goes on by the other one.
changes() {
  eventually 30 carried_by "$1" || return 1
  refuse "$2" false && turn "$1" off || return 1
  says A B "without hci$1" && says B A "so it is without hci$1" || return 1
  eventually 30 carried_by "$2" || return 1
  refuse "$1" true && turn "$1" on || return 1
  says A B "with hci$1 again"
}

carried_by() { carrier && [ "$CARRIER" = "hci$1" ]; }

# The adapter that inquires first is turned off while it does so, and B comes afterwards.
interrupted() {
  send 'after all' &
  local sender=$!
  eventually 30 inquires hci0 || return 1
  turn 0 off
  say "hci0 went down while it inquired"
  receive || return 1
  wait "$sender" && received 'after all'
}

inquires() { hciconfig "$1" | grep -q INQUIRY; }

refuse 0 true
passes "adapters: hci0 does not reach the other host, and hci1 does" eval '! reaches hci0 && reaches hci1'
receive
passes "P-NET-2 adapters: a peer is found and connected by the one that reaches it" eval "send 'Soup is ready' && received 'Soup is ready'"
on A tail -n 3 /tmp/said /tmp/failed
refuse 0 false
refuse 1 true
passes "adapters: hci0 reaches the other host" eventually 30 reaches hci0
chat B radio Bert --medium bluetooth:hci2
with_two chat A radio Anna --medium bluetooth
passes "P-NET-2 adapters: a peer is connected" eventually 120 happened A '"event":"connected"'
passes "P-NET-2 adapters: messages go both ways" eval "says A B 'I come' && says B A 'come in'"
passes "P-NET-2 adapters: a session goes on when its adapter is turned off" changes 0 1
passes "P-NET-2 adapters: and when the other one is" changes 1 0
passes "P-NET-2 adapters: nobody is told of a loss" eval "! happened A '\"event\":\"notConnected\"' && ! happened B '\"event\":\"notConnected\"'"
expect_so_far A B
end_chats A B
refuse 0 true
refuse 1 false
passes "P-NET-2 adapters: a peer is found when an adapter is turned off while it inquires" interrupted
for each in A B; do on "$each" tail -n 3 /tmp/said /tmp/failed; done
finish
