# Bluetooth: two hosts on two virtual controllers find each other and talk. Their processes of vicinity-bluetooth are killed; then the
# LAN that they have as well goes, and comes back.
. /share/jobs/kit.sh

controllers 2
host A
host B
MEDIUM_A=bluetooth:hci0 MEDIUM_B=bluetooth:hci1

file() {
  local start end
  on A dd if=/dev/urandom of=/tmp/photo bs=1M count=4 2>/dev/null
  start=$(hundredths)
  tell A 'send /tmp/photo'
  eventually 120 happened A '"event":"resourceEnded"' || return 1
  end=$(hundredths)
  say "bluetooth: a file of 4 MiB with $((4194304 / 10 / (end - start))) kB/s"
  test "$(on A sh -c 'sha256sum </tmp/photo')" = "$(on B sh -c 'sha256sum </tmp/files/photo')"
}

stream() {
  tell A 'stream song'
  for word in one two three; do tell A "$word"; done
  tell A /end
  eventually 30 happened B '"event":"streamEnded"' || return 1
  on B sh -c "grep '\"event\":\"streamBytes\"' /tmp/said" | grep -q three
}

# The processes are killed, and the session goes on; new ones come, by which a link that is cut is made again.
killed() {
  # shellcheck disable=SC2046
  kill -KILL $(processes vicinity-bluetooth)
  says A B 'without a process' && says B A 'nor here' || return 1
  eventually 30 both_serve
}

both_serve() { [ "$(processes vicinity-bluetooth | wc -l)" -ge 2 ]; }

sever() {
  hcitool -i hci1 dc "$(controller 0)"
  says A B 'after the cut'
}

# Messages go on while the medium changes: all of them arrive, in their order.
steadily() {
  local prefix=$1 change=$2 number=0
  while [ "$number" -lt 60 ]; do
    tell A "say $prefix $number"
    [ "$number" != 10 ] || $change
    number=$((number + 1))
    sleep 0.2
  done
  eventually 60 happened B "\"text\":\"$prefix 59\"" || return 1
  on B sh -c "grep -o '\"text\":\"$prefix [0-9]*' /tmp/said" | sed 's/.* //' >/tmp/numbers
  seq 0 59 | cmp - /tmp/numbers
}

lan_goes() { on B ip link set lanB down; }
lan_returns() { on B ip link set lanB up; }

/share/rfcomm "$(controller 1)" "$(controller 0)"
chat B radio Bert --medium "$MEDIUM_B"
start=$(hundredths)
chat A radio Anna --medium "$MEDIUM_A"
passes "bluetooth: a peer is found" eventually 60 happened A '"event":"found"'
say "bluetooth: found after $(($(hundredths) - start)) hundredths of a second"
passes "bluetooth: it is connected" eventually 60 happened A '"event":"connected"'
say "bluetooth: connected after $(($(hundredths) - start)) hundredths of a second"
passes "bluetooth: the link is of this medium" eventually 10 over A bluetooth
passes "bluetooth: messages go both ways" eval "says A B 'Soup is ready' && says B A 'I come'"
passes "bluetooth: a stream arrives" stream
passes "bluetooth: a file arrives" file
passes "bluetooth: links go on without their processes, which come again" killed
passes "bluetooth: a link that was cut is made again" sever
on A sh -c 'grep "\"event\":\"peers\"" /tmp/said | tail -n 1'
end_chats A B
lan A B
chat B radio Bert --medium "$MEDIUM_B" --medium lan
chat A radio Anna --medium "$MEDIUM_A" --medium lan
passes "both: a peer is connected" eventually 60 happened A '"event":"connected"'
passes "both: the LAN is preferred" eventually 40 over A lan
passes "both: nothing is lost when the LAN goes" steadily down lan_goes
passes "both: the session is on Bluetooth" eventually 40 over A bluetooth
passes "both: nothing is lost when the LAN returns" steadily up lan_returns
passes "both: the session is on the LAN again" eventually 60 over A lan
passes "both: nobody was told of a loss" eval "! happened A '\"event\":\"notConnected\"' && ! happened B '\"event\":\"undelivered\"'"
end_chats A B
for each in A B; do on "$each" tail -n 3 /tmp/failed; done
finish
