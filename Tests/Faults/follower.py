"""Those who follow the messages of a session, come back from where they were, and have no gap and no double; or where the
session keeps little and they were away for long, a gap that they are told."""

import asyncio
import http.client
import json
import random
import time

import websockets

from client import Client

# The times of a session with a short history: a subscriber is there for some time, and then away for longer than that lasts.
AWAKE_SECONDS, AWAY_SECONDS = (0.5, 3), 3


def numbers(items):
    """The numbers of messages to which their sender gave no names here."""
    return [int(item["id"][1:]) for item in items]


class Follower:
    """A subscriber's view of a channel. `side` has the gateway, the session's owner, and in the end the contents."""

    def __init__(self, run, side, how):
        self.run, self.side, self.who = run, side, f"{how} at {side.name}"
        self.items, self.position = {}, None
        # The gaps that the gateway reported, as ranges of missed numbers.
        self.gaps = []
        self.chance = random.Random(f"{self.who} {len(run.followers)}")
        self.awake_until = 0

    def is_done(self):
        return self.run.is_over.is_set() and self.position == self.side.last

    def is_tired(self):
        may_rest = self.side.forgets and self.position and not self.run.is_over.is_set()
        return may_rest and time.monotonic() > self.awake_until

    def rest(self):
        if self.is_tired():
            time.sleep(AWAY_SECONDS)
            self.awake_until = time.monotonic() + self.chance.uniform(*AWAKE_SECONDS)

    # Long polling, from position to position

    def poll(self):
        client = Client(self.side.gateway, self.side.client.token)
        while not self.is_done():
            try:
                self.rest()
                self.ask(client)
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
        self.check()

    def ask(self, client):
        since = self.position
        path = f"{self.side.client.messages}?{f'since={since}&wait=2' if since else 'limit=1000'}"
        status, said = client.once("GET", path)
        said = json.loads(said)
        if status != 200:
            return self.fault(f"{path} was answered {status}: {said}")
        if not (since and said["recovered"]):
            return self.begin(since, said)
        for change in said["changes"]:
            self.hear(change["o"], change["put"])
        self.position = said["position"]

    # An event stream, resumed by its last event ID

    def listen(self):
        while not self.is_done():
            try:
                self.rest()
                self.events()
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
        self.check()

    def events(self):
        since = self.position
        line = http.client.HTTPConnection("127.0.0.1", self.side.gateway.port, timeout=2)
        headers = {"Authorization": f"Bearer {self.side.client.token}", "Accept": "text/event-stream"}
        try:
            line.request("GET", self.side.client.messages, headers={**headers, **({"Last-Event-ID": since} if since else {})})
            answer = line.getresponse()
            if answer.status != 200:
                return self.fault(f"a stream of events was answered {answer.status}: {answer.read().decode()}")
            event = {}
            while not (self.is_done() or self.is_tired()):
                text = answer.readline()
                if not text.endswith(b"\n"):
                    return
                name, _, value = text.decode().rstrip("\n").partition(": ")
                if name:
                    event[name] = value
                else:
                    self.take(since, event)
                    event = {}
        finally:
            line.close()

    def take(self, since, event):
        said = json.loads(event["data"])
        if event["event"] == "put":
            self.hear(int(event["id"].split(".")[1]), said)
            self.position = event["id"]
        elif event["event"] == "snapshot":
            self.begin(since, said)
            if event["id"] != said["position"]:
                self.fault(f"a snapshot with the id {event['id']} is of {said['position']}")
        elif event["event"] == "recovered" and said["position"] == since:
            self.run.resumed += 1
        else:
            self.fault(f"was told {event}, after {since}")

    # A WebSocket

    def follow(self):
        asyncio.run(self.come_back())
        self.check()

    async def come_back(self):
        while not self.is_done():
            try:
                self.rest()
                await self.connection()
            except (OSError, websockets.exceptions.WebSocketException, asyncio.TimeoutError):
                await asyncio.sleep(0.05)

    async def connection(self):
        url, since = f"ws://127.0.0.1:{self.side.gateway.port}/v1/socket", self.position
        async with websockets.connect(url, subprotocols=["vicinity.v1"], max_size=None, max_queue=None) as socket:
            await socket.send(json.dumps({"id": 1, "connect": {"token": self.side.client.token}}))
            await socket.recv()
            wish = {"channel": self.side.client.messages, **({"since": since} if since else {})}
            await socket.send(json.dumps({"id": 2, "subscribe": wish}))
            while not (self.is_done() or self.is_tired()):
                frame = await asyncio.wait_for(socket.recv(), 2 if self.run.is_over.is_set() else 20)
                for line in frame.split("\n"):
                    if line:
                        self.read(json.loads(line), since)

    def read(self, frame, since):
        if "ok" in frame:
            said = frame["ok"]
            if since and said["recovered"]:
                self.run.resumed += 1
                self.position = since
                if said["position"].split(".")[0] != since.split(".")[0]:
                    self.fault(f"it goes on from {since} at {said['position']}")
            else:
                self.begin(since, said)
            return
        if "problem" in frame:
            return self.fault(f"was told {frame['problem']}")
        epoch, offset = self.position.split(".")
        if int(offset) + frame.get("skip", 1) != frame["o"]:
            self.fault(f"a gap between {offset} and {frame['o']}")
        if "put" in frame:
            self.hear(frame["o"], frame["put"])
        self.position = f"{epoch}.{frame['o']}"

    # Messages to all of them

    def hear(self, offset, item):
        epoch, last = self.position.split(".")
        if offset <= int(last):
            self.fault(f"{item['id']} was told as the change {offset}, after {last}")
        self.position = f"{epoch}.{offset}"
        self.put(item)

    def put(self, item):
        if self.side.forgets and item["id"] in self.items:
            self.fault(f"was told of {item['id']} twice")
        self.items[item["id"]] = item["body"]
        self.run.told += 1

    def begin(self, since, said):
        """Takes all items; a subscriber with a position also gets the number of missed changes."""
        if since and not self.side.forgets:
            self.fault(f"the position {since} was not known any more: it is {said['position']}")
        elif since:
            self.miss(since, said)
        elif self.side.forgets and said["items"]:
            self.gaps.append(range(1, numbers(said["items"])[0]))
        for item in said["items"]:
            self.put(item)
        self.position = said["position"]

    def miss(self, since, said):
        """Nobody there says anything, so each message is one change, and has its number."""
        (epoch, last), (now, end) = since.split("."), said["position"].split(".")
        if (now, said.get("missed")) != (epoch, int(end) - int(last)):
            self.fault(f"came back to {said['position']} from {since}, and was told to have missed {said.get('missed')}")
        there, oldest = numbers(said["items"]), numbers([{"id": said["oldest"]}])[0]
        if not there:
            # All messages have been pruned in favour of newer ones, which are stored and not published yet.
            if oldest <= int(end):
                self.fault(f"was told at {said['position']} of nothing, and that {oldest} is the oldest")
            return self.gaps.append(range(int(last) + 1, int(end) + 1))
        if there != list(range(there[0], int(end) + 1)):
            self.fault(f"at {said['position']} there are {len(there)} of {there[0]} to {there[-1]}")
        # The messages in between are on pages of the list; some of them may have gone meanwhile.
        said["items"] = [item for item in self.page() if numbers([item])[0] < there[0]] + said["items"]
        first = numbers(said["items"])[0]
        if not int(last) + 1 < oldest <= first:
            self.fault(f"was told at {said['position']} that {oldest} is the oldest, when it knew {last} and there was {first}")
        self.gaps.append(range(int(last) + 1, first))

    def page(self):
        client = Client(self.side.gateway, self.side.client.token)
        status, said = client.once("GET", f"{self.side.client.messages}?limit=1000")
        return json.loads(said)["items"] if status == 200 else self.fault(f"a page was answered {status}: {said.decode()}")

    def fault(self, text):
        self.run.fault(f"{self.who}: {text}")

    def check(self):
        there = {item["id"]: item["body"] for item in self.side.items}
        if self.side.forgets:
            self.side.heard |= set(self.items.values())
            missed = {f"m{number}": None for gap in self.gaps for number in gap}
            if both := missed.keys() & self.items.keys():
                self.fault(f"was told of {sorted(both)[:5]}, and told to have missed it")
            # Messages that the gateway no longer has were received or reported as missed.
            end = int(self.side.last.split(".")[1])
            there = {f"m{number}": self.items.get(f"m{number}") for number in range(1, end + 1)} | there
        items = {**missed, **self.items} if self.side.forgets else self.items
        if items != there:
            missing = [body or id for id, body in there.items() if id not in items]
            extra = [body or id for id, body in items.items() if id not in there]
            self.fault(f"was not told of {missing[:5]} ({len(missing)}), and of {extra[:5]} that are not there")
