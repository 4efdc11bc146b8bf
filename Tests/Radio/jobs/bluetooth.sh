# Bluetooth: two hosts on two virtual controllers find each other and talk, beside raw RFCOMM. Their processes of vicinity-bluetooth are
# killed. Then they have Wi-Fi without an access point as well, which goes out of reach and comes back.
. /share/jobs/kit.sh

controllers 2
radios 2
host A wlan0
host B wlan1
mount -t debugfs debugfs /sys/kernel/debug
RADIO_B=$(cd /sys/kernel/debug/ieee80211 && for each in *; do echo "$each"; done | tail -n 1)
MEDIUM_A=bluetooth:hci0 MEDIUM_B=bluetooth:hci1

# Keeps what raw RFCOMM does now in RAW_ROUND and RAW_RATE.
raw() {
  read -r RAW_ROUND RAW_RATE <<END
$(/share/rfcomm "$(controller 1)" "$(controller 0)")
END
  say "raw RFCOMM: round trip $RAW_ROUND ms, $RAW_RATE kB/s"
}

# file NAME: sends one of 4 MiB, and keeps its rate in FILE_RATE: from its offer to the word that the other host has it.
file() {
  local ending="\"event\":\"resourceEnded\".*\"resource\":\"$1\""
  on A dd if=/dev/urandom "of=/tmp/$1" bs=1M count=4 2>/dev/null
  tell A "send /tmp/$1"
  eventually 120 happened A "$ending" || return 1
  FILE_RATE=$(calculate "4 * 1048.576 / $(between "$(at A "\"event\":\"resource\".*\"resource\":\"$1\"")" "$(at A "$ending")")")
  say "a file of 4 MiB: $FILE_RATE kB/s"
  test "$(on A sh -c "sha256sum </tmp/$1")" = "$(on B sh -c "sha256sum </tmp/files/$1")"
}

# Each file has raw RFCOMM before it and after it, since the machine may be faster at one time than at another.
measure_files() {
  local before ratios=
  for each in two three four; do
    before=$RAW_RATE
    file "$each" || return 1
    raw
    ratios="$ratios $(calculate "$FILE_RATE / (($before + $RAW_RATE) / 2)")"
  done
  say "files as parts of raw RFCOMM:$ratios"
  # shellcheck disable=SC2086
  FILE_RATIO=$(median $ratios)
}

stream() {
  tell A 'stream song'
  for word in one two three; do tell A "$word"; done
  tell A /end
  eventually 30 happened B '"event":"streamEnded"' || return 1
  on B sh -c "grep '\"event\":\"streamBytes\"' /tmp/said" | grep -q three
}

# Nobody browses any more: what the hosts do and are woken for in some seconds, with the processes of both.
rest() {
  local before seconds=15 all
  for each in A B; do eventually 20 happened "$each" '"event":"searchEnded"' || return 1; done
  # An inquiry that was begun ends by itself.
  sleep 6
  all="$(on A cat /tmp/chat.pid) $(on B cat /tmp/chat.pid) $(processes vicinity-bluetooth)"
  watch
  # shellcheck disable=SC2086
  before=$(wakes $all)
  sleep "$seconds"
  # shellcheck disable=SC2086
  WAKES=$(calculate "($(wakes $all) - $before) / ($seconds / 3) / 2")
  watched
  RESTING_SHARE=$(calculate "100 * $(inquired hci0) / $seconds")
}

# The round trip that the host measures on its link, without the programs above it, in milliseconds.
link_round() {
  tell A peers
  eventually 10 happened A '"roundTripMilliseconds"'
  on A sed -n 's/.*"roundTripMilliseconds":\([0-9.]*\).*/\1/p' /tmp/said | tail -n 1
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

# Messages go on while the medium changes: all of them arrive, in their order. The longest time between two is kept in PAUSE.
steadily() {
  local prefix=$1 change=$2 number=0
  while [ "$number" -lt 60 ]; do
    tell A "say $prefix $number"
    [ "$number" != 10 ] || $change
    number=$((number + 1))
    sleep 0.2
  done
  eventually 60 happened B "\"text\":\"$prefix 59\"" || return 1
  on B grep "\"text\":\"$prefix [0-9]*\"" /tmp/said >/tmp/messages
  PAUSE=$(seconds </tmp/messages | awk 'NR > 1 && $1 - last > most { most = $1 - last } { last = $1 } END { print most }')
  sed "s/.*\"text\":\"$prefix \([0-9]*\)\".*/\1/" /tmp/messages >/tmp/numbers
  seq 0 59 | cmp - /tmp/numbers
}

# Neither host is told that it does not hear the other one any more.
wifi_goes() { reach "$RADIO_B" 2; }
wifi_returns() { reach "$RADIO_B" 1; }

# The round trips of the link, and of a message from program to program, beside those of raw RFCOMM.
measure_rounds() {
  local before=$RAW_ROUND round link
  round=$(rounds A B)
  link=$(link_round)
  raw
  before=$(calculate "($before + $RAW_ROUND) / 2")
  figure "bluetooth: round trip of the link, in those of raw RFCOMM" "$(calculate "$link / $before")" times
  figure "bluetooth: round trip of a message from program to program" "$round" ms
  figure "bluetooth: the same, in those of raw RFCOMM" "$(calculate "$round / $before")" times
}

measures && raw
watch
chat B radio Bert --medium "$MEDIUM_B" --until connected
chat A radio Anna --medium "$MEDIUM_A" --until connected
passes "P-NET-2 bluetooth: a peer is found, invited and connected" eval "eventually 60 happened A '\"event\":\"connected\"' &&
  eventually 60 happened B '\"event\":\"connected\"'"
expect_so_far A B
watched
started=$(later "$(at A '"event":"started"')" "$(at B '"event":"started"')")
# One of the two invites the other one at once, which need not find it any more.
found=$(sooner "$(at A '"event":"found"')" "$(at B '"event":"found"')")
connected=$(later "$(at A '"event":"connected"')" "$(at B '"event":"connected"')")
figure "P-NET-2 bluetooth: found after both are up" "$(between "$started" "$found")" s '<= 6'
figure "P-NET-2 bluetooth: invited and connected after it is found" "$(between "$found" "$connected")" s '<= 2'
passes "P-NET-2 bluetooth: the link is of this medium" eventually 10 over A bluetooth
passes "P-NET-2 bluetooth: messages go both ways" eval "says A B 'Soup is ready' && says B A 'I come'"
# Inquiries are seen, so that their absence later says something.
figure "bluetooth: inquiries while both looked for each other" "$(inquired hci0)" s '>= 2'
if measures; then
  passes "P-NET-2 bluetooth: hosts rest that do not browse" rest
  figure "P-NET-2 bluetooth: share of inquiries while nobody browses" "$RESTING_SHARE" % '<= 5'
  figure "P-NET-2 bluetooth: wake-ups of a resting host for each beat" "$WAKES" times
  measure_rounds
fi
passes "P-NET-2 bluetooth: a stream arrives" stream
passes "P-NET-2 bluetooth: a file arrives" file one
if measures; then
  measure_files
  figure "P-NET-2 bluetooth: rate of a file, as a part of raw RFCOMM" "$FILE_RATIO" times '>= 0.7'
fi
passes "P-NET-2 bluetooth: links go on without their processes, which come again" killed
passes "P-NET-2 bluetooth: a link that was cut is made again" sever
on A sh -c 'grep "\"event\":\"peers\"" /tmp/said | tail -n 1'
end_chats A B
cell A wlan0
cell B wlan1
chat B radio Bert --medium "$MEDIUM_B" --medium lan
chat A radio Anna --medium "$MEDIUM_A" --medium lan
passes "both: a peer is connected" eventually 60 happened A '"event":"connected"'
passes "P-SES-9 both: Wi-Fi is preferred to Bluetooth" eventually 40 over A lan
measures && figure "both: round trip of a message from program to program by Wi-Fi" "$(rounds A B)" ms
passes "P-SES-9 both: nothing is lost when Wi-Fi goes out of reach" steadily away wifi_goes
figure "P-SES-9 both: pause until messages go by Bluetooth" "$PAUSE" s '<= 4'
passes "P-SES-9 both: the session is on Bluetooth" eventually 40 over A bluetooth
passes "P-SES-9 both: nothing is lost when Wi-Fi returns" steadily back wifi_returns
passes "P-SES-9 both: the session is on Wi-Fi again" eventually 60 over A lan
passes "P-SES-9 both: nobody was told of a loss" eval "! happened A '\"event\":\"notConnected\"' && ! happened B '\"event\":\"undelivered\"'"
end_chats A B
for each in A B; do on "$each" tail -n 3 /tmp/failed; done
finish
