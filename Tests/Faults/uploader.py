"""A client that uploads files in parts, and asks for the offset after a cut."""

import hashlib
import http.client
import json
import random
import time
from collections import defaultdict

from client import Client

# Some are so long that their end goes past the system's memory, in pieces that go past the library that reads HTTP.
SHORT, LONG = (1 << 20, range(1, 8 << 20)), (5 << 20, range(18 << 20, 24 << 20))
# A session has room for a thousand.
KEPT_MAX = 50
OVER = ("complete", "failed", "declined")


class Uploader:
    """`side` has the gateway and whose session it is; the files are for the peer of the other one."""

    def __init__(self, run, side, receiver, number, seed):
        self.run, self.side, self.receiver, self.number = run, side, Client(receiver.gateway, receiver.client.token), number
        self.to = receiver.client.peer
        self.there = f"/v1/sessions/{receiver.client.session}/resources"
        self.chance = random.Random(f"{seed} {side.name} {number}")
        self.client = Client(side.gateway, side.client.token)
        self.place = f"/v1/sessions/{side.client.session}/resources"
        # Names with their places and digests, the places of what was deleted again, and how many have come whole.
        self.uploaded, self.deleted, self.whole = {}, [], 0

    def work(self):
        count = 0
        while not self.run.is_over.is_set():
            count += 1
            name = f"{self.side.name}-{self.number}-{count}"
            piece_bytes, sizes = LONG if self.chance.random() < 0.1 else SHORT
            content = self.chance.randbytes(self.chance.choice(sizes))
            # Some are not wanted any more, now or in the middle.
            end = self.chance.randrange(len(content)) if self.chance.random() < 0.2 else None
            try:
                if len(self.uploaded) > KEPT_MAX:
                    self.clear_away()
                place = self.offer(name, len(content))
                if place and self.fill(place, content, piece_bytes, end):
                    self.uploaded[name] = (place, hashlib.sha256(content).hexdigest())
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)

    def offer(self, name, size):
        body = {"name": name, "to": self.to, "size": size}
        status, said = self.client.once("POST", self.place, json.dumps(body).encode())
        if status == 201:
            return f"{self.place}/{json.loads(said)['id']}"
        if status not in (409, 429):
            self.run.fault(f"a resource was answered {status}: {said.decode()}")
        time.sleep(0.1)

    def fill(self, place, content, piece_bytes, end):
        """Whether all of it was taken."""
        offset = acknowledged = 0
        while not self.run.is_over.is_set():
            if end is not None and offset >= end:
                return self.delete(place)
            piece = content[offset:offset + piece_bytes]
            is_last = offset + len(piece) == len(content)
            try:
                status, said, headers = self.client.whole(
                    "PATCH", f"{place}/content", piece, "application/partial-upload",
                    {"Upload-Offset": str(offset), "Upload-Complete": "?1" if is_last else "?0"})
                if status == 200:
                    return True
                if status == 409 and "Upload-Offset" not in headers:
                    # Its answer was lost, and it goes out already.
                    return json.loads(self.client.once("GET", place)[1]).get("state") != "uploading" or None
                offset = int(headers["Upload-Offset"])
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
                try:
                    status, said, headers = self.client.whole("HEAD", f"{place}/content")
                    if status == 404:
                        return self.run.fault(f"{place} was made and is there no more")
                    offset = int(headers.get("Upload-Offset", offset))
                except (OSError, http.client.HTTPException):
                    continue
            if offset < acknowledged:
                self.run.fault(f"of {place} {acknowledged} bytes were acknowledged, and {offset} are there")
            acknowledged = max(acknowledged, offset)

    def delete(self, place):
        if self.client.once("DELETE", place)[0] == 204:
            self.deleted.append(place)

    # Results

    def clear_away(self):
        """Ended transfers are checked and deleted on both sides, and so are those whose first response was lost."""
        come = self.come()
        for item in self.client.all(self.place)[0]:
            name = item["name"]
            if not name.startswith(f"{self.side.name}-{self.number}-"):
                continue
            if name in self.uploaded:
                if not all(each["state"] in OVER for each in [item, *come[name]]):
                    continue
                self.look_at(name, item, come[name])
                del self.uploaded[name]
            for each in come[name]:
                self.receiver.ask("DELETE", f"{self.there}/{each['id']}")
            self.client.ask("DELETE", f"{self.place}/{item['id']}")

    def come(self):
        """The receiver's resources by name."""
        come = defaultdict(list)
        for item in self.receiver.all(self.there)[0]:
            come[item["name"]].append(item)
        return come

    def look_at(self, name, item, come):
        """An accepted upload has arrived whole: nobody declines it, and its recipient always comes back."""
        if item["state"] != "complete":
            return self.run.fault(f"{name} was taken, and is {item['state']}: {item.get('problem')}; there it is {come}")
        digests = [
            hashlib.sha256(self.receiver.surely("GET", item["content"])[1]).hexdigest()
            for item in come if item["state"] == "complete"]
        if digests != [self.uploaded[name][1]]:
            self.run.fault(f"{name} is told as complete, and there it is {come}")
        self.whole += 1

    # Final checks

    def open_files(self):
        items = [self.client.ask("GET", place) for place, _ in self.uploaded.values()]
        return [item for item in items if item["state"] not in OVER]

    def check(self):
        """Deleted resources are gone, and accepted uploads have arrived."""
        come = self.come()
        for name, (place, _) in self.uploaded.items():
            self.look_at(name, self.client.ask("GET", place), come[name])
        for place in self.deleted:
            if (status := self.client.surely("GET", place)[0]) != 404:
                self.run.fault(f"{place} was deleted, and is answered {status}")
