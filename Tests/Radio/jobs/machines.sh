# Machines: A B C
# Three machines, each with a kernel of its own, on one cable and in one air. A has Bluetooth alone, B the cable alone, and C both: through C
# the two talk. Then B has Bluetooth as well: its session with C moves there when the cable is unplugged, and back.
. /share/jobs/kit.sh

host "$MACHINE"

# steadily TEXT: messages with a number, some of them before a change and some after it.
steadily() {
  local number=0
  while [ "$number" -lt 60 ]; do
    tell B "say $1 $number"
    [ "$number" != 10 ] || done_here "$1-begun"
    number=$((number + 1))
    sleep 0.2
  done
}

# complete TEXT: all of them have arrived, in their order.
complete() {
  eventually 120 happened C "\"text\":\"$1 59\"" || return 1
  on C sh -c "grep '\"text\":\"$1 [0-9]*\"' /tmp/said" | sed "s/.*\"text\":\"$1 \([0-9]*\)\".*/\1/" >/tmp/numbers
  seq 0 59 | cmp - /tmp/numbers
}

# moves TEXT MEDIUM CHANGE…: the session with C goes over to the medium when the cable changes, and nobody is told of a loss.
moves() {
  local text=$1 medium=$2
  shift 2
  steadily "$text" &
  local messages=$!
  done_there "$text-begun" && on B ip link set eth0 "$1"
  wait "$messages"
  eventually 60 over B "$medium" && ! happened B '"event":"notConnected"'
}

case $MACHINE in
A)
  airborne
  chat A radio Anna --medium bluetooth
  passes "P-SES-8 machines: a peer in reach of none but Bluetooth is connected with one on the cable" \
    eventually 240 happened A '"event":"connected".*"name":"Bert"'
  expect_so_far A
  passes "P-SES-8 machines: their link goes through the third machine" eventually 20 over A relay
  tell A 'say Soup is ready'
  passes "P-SES-8 machines: an answer comes by the relay" eventually 60 happened A '"text":"I come"'
  on A dd if=/dev/urandom of=/tmp/photo bs=1M count=1 2>/dev/null
  on A sh -c 'sha256sum </tmp/photo' >/share/told/sum
  tell A 'send /tmp/photo to Bert'
  passes "P-SES-8 machines: a file is taken by the relay" eventually 240 happened A '"event":"resourceEnded"'
  done_here file
  end_chats A
  done_here relayed
  # The other two have their cable by this machine.
  done_there complete
  ;;
B)
  cable B
  chat B radio Bert --medium lan
  passes "P-SES-8 machines: a message comes by the relay" eventually 300 happened B '"text":"Soup is ready"'
  expect_so_far B
  tell B 'say I come'
  done_there file
  passes "P-SES-8 machines: the file is the one that was sent" \
    eval 'test "$(on B sh -c "sha256sum </tmp/files/photo")" = "$(cat /share/told/sum)"'
  end_chats B
  done_there relayed
  airborne
  chat B radio Bert --medium bluetooth --medium lan
  passes "machines: two with both media are connected" eventually 120 happened B '"event":"connected"'
  passes "P-SES-9 machines: the cable is preferred to Bluetooth" eventually 60 over B lan
  passes "P-SES-9 machines: the session moves to Bluetooth when the cable is unplugged" moves away bluetooth down
  passes "P-SES-9 machines: it moves back when there is a cable again" moves back lan up
  done_here moved
  done_there complete
  end_chats B
  ;;
C)
  cable C
  airborne
  chat C radio Carl --medium bluetooth --medium lan
  passes "machines: one with both media is connected with the other two" \
    eval "eventually 240 happened C '\"event\":\"connected\".*Anna' && eventually 240 happened C '\"event\":\"connected\".*Bert'"
  expect_so_far C
  done_there away-begun
  passes "P-SES-9 machines: nothing is lost when the cable is unplugged" complete away
  done_there back-begun
  passes "P-SES-9 machines: nothing is lost when there is a cable again" complete back
  # B counts each leave as a loss until then.
  done_there moved
  done_here complete
  end_chats C
  ;;
esac
on "$MACHINE" tail -n 3 /tmp/said /tmp/failed
finish
