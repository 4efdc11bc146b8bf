"""Those who follow the messages of a session, come back from where they were, and have no gap and no double."""

import asyncio
import http.client
import json
import time

import websockets

from client import Client


class Follower:
    """What one who follows has been told. `side` has the gateway, whose session it is, and in the end what is there."""

    def __init__(self, run, side, how):
        self.run, self.side, self.who = run, side, f"{how} at {side.name}"
        self.items, self.position = {}, None

    def is_done(self):
        return self.run.is_over.is_set() and self.position == self.side.last

    def poll(self):
        """By long polling, from position to position."""
        client = Client(self.side.gateway, self.side.client.token)
        while not self.is_done():
            since = "limit=1000" if self.position is None else f"since={self.position}&wait=2"
            path = f"{self.side.client.messages}?{since}"
            try:
                status, said = client.once("GET", path)
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
                continue
            said = json.loads(said)
            if status != 200:
                return self.fault(f"{path} was answered {status}: {said}")
            if self.position is not None and not said["recovered"]:
                return self.fault(f"the position {self.position} was not known any more: it is {said['position']}")
            for change in said.get("changes", []):
                self.put(change["put"])
            for item in said.get("items", []):
                self.put(item)
            self.position = said["position"]
        self.check()

    def follow(self):
        """By a WebSocket."""
        asyncio.run(self.come_back())
        self.check()

    async def come_back(self):
        while not self.is_done():
            try:
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
            while not self.is_done():
                frame = await asyncio.wait_for(socket.recv(), 2 if self.run.is_over.is_set() else 20)
                for line in frame.split("\n"):
                    if line:
                        self.hear(json.loads(line), since)

    def put(self, item):
        self.items[item["id"]] = item["body"]
        self.run.told += 1

    def hear(self, frame, since):
        if "ok" in frame:
            said = frame["ok"]
            if since and not said["recovered"]:
                self.fault(f"the position {since} was not known any more: it is {said['position']}")
            self.run.resumed += 1 if since else 0
            for item in said.get("items", []):
                self.put(item)
            self.position = said["position"]
            return
        if "problem" in frame:
            return self.fault(f"was told {frame['problem']}")
        epoch, offset = self.position.split(".")
        if int(offset) + frame.get("skip", 1) != frame["o"]:
            self.fault(f"a gap between {offset} and {frame['o']}")
        self.position = f"{epoch}.{frame['o']}"
        if "put" in frame:
            self.put(frame["put"])

    def fault(self, text):
        self.run.fault(f"{self.who}: {text}")

    def check(self):
        there = {item["id"]: item["body"] for item in self.side.items}
        if self.items != there:
            missing = [body for id, body in there.items() if id not in self.items]
            extra = [body for id, body in self.items.items() if id not in there]
            self.fault(f"was not told of {missing[:5]} ({len(missing)}), and of {extra[:5]} that are not there")
