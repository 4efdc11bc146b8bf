"""Attacks of a member on a gateway's memory: clients that ask for much, or follow, and read nothing.

    python3 Tests/Hostile/memory.py [case]

Each case of `CASES` runs against one gateway, while an innocent client asks for its peers. It is a finding where the gateway takes
more than `MEMORY_MAX` above what it had before, or the innocent client waits longer than `WAIT_FACTOR` times what it waits alone; or
where an answer is missing once the client reads: each is whole, or a problem of 429 or 503.
"""

import json
import os
import re
import resource
import selectors
import socket
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "Faults"), os.path.join(os.path.dirname(HERE), "Dashboard")]
from client import Client, come_in, until  # noqa: E402
from gateway import Gateway  # noqa: E402

MEMORY_MAX = 256 << 20
WAIT_FACTOR = 2
# Limit below which a wait is no finding: this program has two cores with the gateway and whatever else runs. It was 16 ms beside the
# other steps of CI.
WAIT_SECONDS_MIN = 0.1
# The duration of a case, in which its clients read nothing.
SECONDS = 4
# The time in which the innocent client is measured alone, before each case.
ALONE_SECONDS = 1
MESSAGES, MESSAGE_BYTES = 34, 1_000_000
ANSWER_SECONDS_MAX = 60
SOCKETS_OF_ADDRESS = 1_000
PRIORITY = -15
# The clients that read their responses, of 200; the others disconnect.
HTTP_READERS = 40


class Innocent:
    """A client in a process of its own, which asks for a short list every few milliseconds."""

    PAUSE_SECONDS = 0.004

    def __init__(self, port, token):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "innocent", str(port), token], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def waits(self):
        """The 99th percentile of what it waited since the last time, and the longest."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.kill()
        self.process.wait()

    @classmethod
    def run(cls, port, token):
        waits, lock = [], threading.Lock()

        def ask():
            line = socket.create_connection(("127.0.0.1", port))
            request = f"GET /v1/peers HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
            while True:
                began, answer = time.monotonic(), b""
                line.sendall(request)
                while b"}]" not in answer and b'"items":[]' not in answer:
                    answer += line.recv(1 << 16)
                with lock:
                    waits.append(time.monotonic() - began)
                time.sleep(cls.PAUSE_SECONDS)

        threading.Thread(target=ask, daemon=True).start()
        for _ in sys.stdin:
            with lock:
                ordered = sorted(waits)
                waits.clear()
            print(json.dumps([ordered[len(ordered) * 99 // 100], ordered[-1]] if ordered else [SECONDS, SECONDS]), flush=True)


class WebSocket:
    """The bytes that a client sends on a WebSocket."""

    @staticmethod
    def upgrade(port):
        return (
            f"GET /v1/socket HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: vicinity.v1\r\n\r\n").encode()

    @staticmethod
    def frame(json_):
        text = json.dumps(json_).encode()
        length = bytes((0x80 | len(text),)) if len(text) < 126 else bytes((0x80 | 126,)) + len(text).to_bytes(2, "big")
        # Masked by nothing, which is a mask as well.
        return b"\x81" + length + bytes(4) + text


class Line:
    """A connection with a small receive buffer, which reads only when a test says so."""

    def __init__(self, run, number=0):
        self.line = socket.socket()
        self.line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
        # Addresses of each case's own, one for each thousand: so many connections one address may have, and those of the case before
        # may not all have ended.
        self.line.bind((f"127.0.{run.case}.{1 + number // SOCKETS_OF_ADDRESS}", 0))
        self.line.settimeout(ANSWER_SECONDS_MAX)
        self.line.connect(("127.0.0.1", run.gateway.port))
        self.token, self.port, self.rest = run.token, run.gateway.port, b""

    def ask(self, path, accept="application/json"):
        self.line.sendall((
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self.token}\r\nAccept: {accept}\r\n\r\n").encode())

    def upgrade(self):
        self.line.sendall(WebSocket.upgrade(self.port))
        while b"\r\n\r\n" not in self.rest:
            self.rest += self.line.recv(4096)
        self.rest = self.rest.split(b"\r\n\r\n", 1)[1]
        self.say({"id": "connect", "connect": {"token": self.token}})

    def say(self, *frames):
        bytes_ = b"".join(map(WebSocket.frame, frames))
        self.line.settimeout(0.5)
        try:
            self.line.sendall(bytes_)
        except TimeoutError:
            pass  # it is not read, as it does not read
        self.line.settimeout(ANSWER_SECONDS_MAX)

    def more(self):
        bytes_ = self.line.recv(1 << 20)
        if not bytes_:
            raise EOFError
        self.rest += bytes_

    def take(self, count):
        parts, have = [self.rest], len(self.rest)
        while have < count:
            bytes_ = self.line.recv(1 << 20)
            if not bytes_:
                raise EOFError
            parts.append(bytes_)
            have += len(bytes_)
        all_ = b"".join(parts)
        self.rest = all_[count:]
        return all_[:count]

    def frame(self):
        """The opcode and the payload of the next one."""
        head = self.take(2)
        length = head[1]
        if length == 126:
            length = struct.unpack(">H", self.take(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", self.take(8))[0]
        return head[0] & 15, self.take(length)

    def answer(self):
        """The status and the body of an answer of HTTP."""
        while b"\r\n\r\n" not in self.rest:
            self.more()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        length = int(next(line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")))
        return int(head[9:12]), self.take(length)

    def close(self):
        self.line.close()


# The cases: each gives the lines that wait, and a check of what they read in the end.

def requests_of_sockets(run, paths):
    lines = []
    for number in range(10):
        line = Line(run)
        line.upgrade()
        line.say(*({"id": index, "request": {"method": "GET", "path": paths[index % len(paths)]}} for index in range(64)))
        lines.append(line)

    def check():
        answered, whole = set(), 0
        line = lines[0]
        for other in lines[1:]:
            other.close()
        try:
            while len(answered) < 64:
                opcode, text = line.frame()
                if opcode != 1 or text.startswith(b'{"id":"connect"'):
                    continue
                answered.add(re.match(rb'\{"id":(\d+),', text)[1])
                if b'"ok":' in text[:40]:
                    if len(text) < MESSAGE_BYTES or not text.endswith(b"}}"):
                        return f"a page has only {len(text)} bytes"
                    whole += 1
                elif json.loads(text)["problem"]["status"] not in (429, 503):
                    return f"a request was answered {text[:200]}"
        except (EOFError, OSError) as error:
            return f"only {len(answered)} of 64 requests were answered: {error!r}"
        return None if whole else "no request was answered whole"

    return lines, check


def requests_of_http(run, paths):
    lines = [Line(run, number) for number in range(200)]
    for number, line in enumerate(lines):
        line.ask(paths[number % len(paths)])

    def check():
        whole = 0
        for line in lines[HTTP_READERS:]:
            line.close()
        for line in lines[:HTTP_READERS]:
            try:
                status, body = line.answer()
            except (EOFError, OSError) as error:
                return f"a request was not answered: {error!r}"
            if status not in (200, 429, 503) or status == 200 and not body.endswith(b"}"):
                return f"a request was answered {status}: {body[:200]}"
            whole += status == 200
        return None if whole else "no request was answered whole"

    return lines, check


def followers(run, since=None):
    lines = []
    for number in range(300):
        line = Line(run, number)
        line.upgrade()
        line.say({"id": 1, "subscribe": {"channel": run.messages, **({"since": since} if since else {})}})
        lines.append(line)
    # Their subscriptions continue.
    for number in range(8):
        run.post()
    return lines, lambda: None


def event_streams(run):
    lines = []
    for number in range(3_000):
        line = Line(run, number)
        line.ask("/v1/events", "text/event-stream")
        lines.append(line)
    return lines, lambda: None


def event_streams_of_messages(run):
    lines = []
    for number in range(1_000):
        line = Line(run, number)
        line.ask(run.messages, "text/event-stream")
        lines.append(line)
    for number in range(4):
        run.post()
    return lines, lambda: None


def askers(run, path, count, by):
    """Connections of one client that ask for the same without a pause, and throw away what they are answered."""
    pounder = subprocess.Popen([
        sys.executable, __file__, "pound", str(run.gateway.port), run.token, path, str(count), by, f"127.0.{run.case}.1"])

    def check():
        pounder.kill()
        pounder.wait()
        usage = run.member.ask("GET", "/v1/clients/self/queues")["usage"]
        return None if usage["delayed"] > 0 else f"no request has waited for its turn: {usage}"

    return [pounder], check


def pound(port, token, path, count, by, address):
    # It has what the gateway and the innocent client leave of two processors, as somebody elsewhere would.
    os.nice(19)
    if by == "HTTP":
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    else:
        request = WebSocket.frame({"id": 1, "request": {"method": "GET", "path": path}})
    waiting = selectors.DefaultSelector()
    for _ in range(count):
        line = socket.socket()
        line.bind((address, 0))
        line.connect(("127.0.0.1", port))
        if by == "WebSocket":
            line.sendall(WebSocket.upgrade(port))
            line.recv(4096)
            line.sendall(WebSocket.frame({"id": "connect", "connect": {"token": token}}))
        line.setblocking(False)
        waiting.register(line, selectors.EVENT_READ | selectors.EVENT_WRITE, [b""])
    while True:
        for key, events in waiting.select():
            try:
                if events & selectors.EVENT_READ and not key.fileobj.recv(1 << 18):
                    waiting.unregister(key.fileobj)
                    continue
                if events & selectors.EVENT_WRITE:
                    rest = key.data[0] or request * 16
                    key.data[0] = rest[key.fileobj.send(rest):]
            except BlockingIOError:
                pass


CASES = [
    ("10 WebSockets, 64 requests each for pages from memory", lambda run: requests_of_sockets(run, [run.late])),
    ("10 WebSockets, 64 requests each for pages from the store", lambda run: requests_of_sockets(run, [run.early])),
    ("200 requests for pages from memory and from the store", lambda run: requests_of_http(run, [run.late, run.early])),
    ("300 WebSockets that follow, and read nothing", followers),
    ("300 WebSockets that follow from an old position, and read nothing", lambda run: followers(run, run.position)),
    ("3,000 streams of events", event_streams),
    ("1,000 streams of messages", event_streams_of_messages),
    ("200 connections that ask for a short list without a pause", lambda run: askers(run, "/v1/peers", 200, "HTTP")),
    ("50 connections that ask for a long list without a pause", lambda run: askers(run, "/v1/events?limit=1000", 50, "HTTP")),
    ("50 WebSockets that ask for a short list without a pause", lambda run: askers(run, "/v1/peers", 50, "WebSocket")),
]


class Run:
    def __init__(self):
        count = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
        self.gateway = Gateway("Memory")
        self.case = 0
        member, other = come_in(self.gateway), come_in(self.gateway)
        self.member, self.token = member, member.token
        sessions = []
        for name in ("Ann", "Ben"):
            peer = member.ask("POST", "/v1/peers", {"displayName": name})["id"]
            wish = {"peer": peer, "adhoc": "memory", "history": {"keep": "durable", "count": 1_000, "bytes": 1 << 30}}
            sessions.append(f"/v1/sessions/{member.ask('POST', '/v1/sessions', wish)['id']}")
        until(lambda: member.ask("GET", sessions[0])["connected"] == 1, "the two were not connected")
        self.messages = f"{sessions[0]}/messages"
        self.position = member.ask("GET", self.messages)["position"]
        for _ in range(MESSAGES):
            self.post()
        items, _ = member.all(self.messages)
        cursor = self.cursors()
        self.early, self.late = f"{self.messages}?limit=1000", f"{self.messages}?limit=1000&after={cursor}"
        self.innocent = Innocent(self.gateway.port, other.token)
        # A higher priority than all else here: only the wait for the gateway counts. Only root may set it.
        if os.geteuid() == 0:
            for process in (self.gateway.process, self.innocent.process):
                os.setpriority(os.PRIO_PROCESS, process.pid, PRIORITY)
        time.sleep(1)
        self.idle = self.memory()

    def post(self):
        # A new connection: one that was idle may be closed by now.
        status, said = Client(self.gateway, self.token).once("POST", self.messages, b"x" * MESSAGE_BYTES, "text/plain")
        if status != 201:
            raise RuntimeError(f"a message was answered {status}: {said.decode()}")

    def cursors(self):
        """Behind which the rest of the messages is a page from memory."""
        after, query = "", ""
        for _ in range(MESSAGES // 2 + 4):
            page = self.member.ask("GET", f"{self.messages}?limit=1{query}")
            after = page["next"]
            query = f"&after={after}"
        return after

    def memory(self):
        with open(f"/proc/{self.gateway.process.pid}/status", encoding="utf-8") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))

    def judge(self, name, case):
        self.case += 1
        self.innocent.waits()
        time.sleep(ALONE_SECONDS)
        self.alone, _ = self.innocent.waits()
        most, is_over = [0], threading.Event()

        def watch():
            while not is_over.wait(0.02):
                most[0] = max(most[0], self.memory())

        watcher = threading.Thread(target=watch)
        watcher.start()
        began, findings, lines = time.monotonic(), [], []
        try:
            lines, check = case(self)
            while time.monotonic() < began + SECONDS:
                time.sleep(0.05)
            wait, longest = self.innocent.waits()
            lost = check()
            if lost:
                findings.append(lost)
        finally:
            is_over.set()
            watcher.join()
            for line in lines:
                line.kill() if isinstance(line, subprocess.Popen) else line.close()
        more = most[0] - self.idle
        print(
            f"  {name}: {more >> 20} MiB more than idle, others waited {1e3 * wait:.1f} ms (99 of 100; {1e3 * longest:.0f} at most) instead "
            f"of {1e3 * self.alone:.1f}, in {time.monotonic() - began:.0f} s", flush=True)
        if more > MEMORY_MAX:
            findings.append(f"takes {more >> 20} MiB")
        if wait > max(WAIT_FACTOR * self.alone, WAIT_SECONDS_MIN):
            findings.append(f"others wait {1e3 * wait:.0f} ms instead of {1e3 * self.alone:.0f}")
        if self.gateway.process.poll() is not None:
            findings.append(f"the gateway has ended with {self.gateway.process.returncode}")
        return [("memory", name, finding) for finding in findings]

    def close(self):
        self.innocent.close()
        self.gateway.close()


def go(only=""):
    run, findings = Run(), []
    try:
        for name, case in CASES:
            if only in name:
                found = run.judge(name, case)
                # A machine that is busy with something else makes others wait, too: what the gateway does shows again.
                if found and all(finding.startswith("others wait") for _, _, finding in found):
                    found = run.judge(name, case)
                findings += found
                time.sleep(0.5)
    finally:
        run.close()
    return findings


if __name__ == "__main__":
    if sys.argv[1:2] == ["innocent"]:
        Innocent.run(int(sys.argv[2]), sys.argv[3])
    elif sys.argv[1:2] == ["pound"]:
        pound(int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]), *sys.argv[6:])
    else:
        found = go(*sys.argv[1:2])
        for finding in found:
            print("✘", ": ".join(finding))
        sys.exit(bool(found))
