# Wi-Fi without an access point, made by the program: hosts in a mesh (802.11s), then in a group of Wi-Fi Direct, find each other
# and talk; a device joins the group as plain Wi-Fi, with an address; what a killed program leaves is ended by the next.
. /share/jobs/kit.sh

radios 2
host A wlan0
host B wlan1
bus A
bus B
for each in A B; do on "$each" wpa_supplicant -u -B -f /tmp/wpa.log; done

# An address that the other host reaches.
local_address() { on "$1" ip -6 -o addr show dev "$2" scope link | sed -n 's/.* inet6 \([^/]*\).*/\1/p'; }

mesh() {
  for each in A B; do radio "$each" mesh join lab || return 1; done
  eventually 20 on A ping -c1 -W1 "$(local_address B wlan1)%wlan0"
}

# The program is killed, so that its mesh stays. The next one sees that nobody holds it, and makes a group in its place.
orphan() {
  end A KILL || return 1
  on A /share/vicinity radio list --json | grep -q '"isAbandoned":true' || return 1
  on A /share/vicinity radio list | grep -q 'mesh lab, abandoned'
}

# The interface of the group, which the driver makes beside the radio's or not.
group() {
  radio A p2p start --frequency 2437 || return 1
  GROUP=$(said A interface)
  [ "$(said A addressing)" = dhcp ]
}

# As a phone does: by the name and the password that are in the code, and then by DHCP.
join() {
  printf 'ctrl_interface=/run/wpa\nnetwork={\nssid="%s"\npsk="%s"\n}\n' "$(said A name)" "$(said A password)" |
    on B sh -c 'cat >/tmp/wpa.conf'
  on B wpa_supplicant -B -i wlan1 -D nl80211 -c /tmp/wpa.conf -f /tmp/wpa-join.log
  eventually 30 on B sh -c "wpa_cli -p /run/wpa -i wlan1 status | grep -q '^wpa_state=COMPLETED'" || return 1
  printf '#!/bin/sh\n[ "$1" = bound ] && ip addr add "$ip/$mask" dev "$interface"\nexit 0\n' | on B sh -c 'cat >/tmp/bound && chmod +x /tmp/bound'
  on B /bin/busybox udhcpc -i wlan1 -n -q -s /tmp/bound || return 1
  eventually 20 on B ping -c1 -W1 192.168.49.1
}

member() {
  on A /share/vicinity radio list || return 1
  on A /share/vicinity radio list | grep -q "$(on B cat /sys/class/net/wlan1/address)  *192\.168\.49\."
}

# The gateway's dashboard, as a browser in the group asks for it: by the owner's address, and by its name.
dashboard() {
  serve || return 1
  eventually 20 page 192.168.49.1 || return 1
  eventually 20 on B ping -c1 -W1 A.local || return 1
  eventually 20 page A.local
}

# page HOST: whether the dashboard comes for that host.
page() {
  # Its own time limit, -T, makes Debian's busybox crash.
  on B timeout 5 /bin/busybox wget -q -O - --header "Host: $1:7777" http://192.168.49.1:7777/ | grep -q '<title>'
}

# Starts a gateway on A, whose process is SERVE.
serve() {
  on A rm -f /tmp/serve.said
  # shellcheck disable=SC2016
  on A sh -c 'echo $$ >/tmp/serve.pid; exec /share/vicinity serve --keys ephemeral --folder /tmp/gateway --json >/tmp/serve.said 2>&1' &
  SERVE=$!
  eventually 60 on A grep -q '"event":"serving"' /tmp/serve.said && return
  on A cat /tmp/serve.said
  return 1
}

end_serve() {
  # shellcheck disable=SC2016
  on A sh -c 'kill "$(cat /tmp/serve.pid)"'
  wait "$SERVE"
}

# A gateway that starts ends what a killed program has left.
inherit() {
  radio A mesh join lab || return 1
  end A KILL || return 1
  has_mesh || return 1
  serve || return 1
  eventually 30 has_no_mesh
}

has_mesh() { on A /share/vicinity radio list | grep -q 'mesh lab, abandoned'; }
has_no_mesh() { on A /share/vicinity radio list | awk '/^wlan0/ { listed = 1 } /mesh lab/ { left = 1 } END { exit !listed || left }'; }

# found NETWORK: the seconds until the peer was found in a network that stands, from when both programs were there.
found() { between "$(at A '"event":"started"' "/tmp/$1.said")" "$(at A '"event":"found"' "/tmp/$1.said")"; }

passes "P-NET-3 mesh: both hosts are in it" mesh
figure "mesh: up after its start" "$RADIO_SECONDS" s
discovery A wlan0
discovery B wlan1
passes "P-NET-3 mesh: a peer is found, invited, and takes a message and a file" meet mesh
figure "mesh: the peer found after both are up" "$(found mesh)" s
for each in A B; do silence "$each"; done
passes "P-NET-3 mesh: a host leaves it" end B TERM
passes "P-NET-3 mesh: what a killed program has left is seen" orphan
passes "P-NET-3 group: it takes the place of what was left" group
figure "P-NET-3 group: up after its start" "$RADIO_SECONDS" s '<= 12'
passes "P-NET-3 group: a device joins it as plain Wi-Fi, and gets an address" join
passes "P-NET-3 group: its owner tells of the device, by both of its addresses" member
discovery A "$GROUP"
discovery B wlan1
passes "P-NET-3 group: a peer is found, invited, and takes a message and a file" meet group
figure "P-NET-3 group: the first peer found after both are up" "$(found group)" s '<= 5'
passes "P-NET-3 group: a device in it opens the owner's dashboard, by its address and by its name" dashboard
end_serve
passes "P-NET-3 group: it ends" end A TERM
passes "P-NET-3 group: nothing of it stays" on A sh -c '! ip link show | grep -q p2p- && ! ip addr | grep -q 192.168.49'
passes "P-NET-3 mesh: a gateway that starts ends what a killed program has left" inherit
end_serve
finish
