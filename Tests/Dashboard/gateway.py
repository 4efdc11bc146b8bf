"""A gateway as people start it, in a folder of its own, with the dashboard of this tree."""

import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("VICINITY", os.path.join(ROOT, ".build", "release", "vicinity"))
START_SECONDS_MAX = 30
PATIENCE_SECONDS = 60


def until(done, otherwise, seconds=PATIENCE_SECONDS):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if done():
                return
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.05)
    raise RuntimeError(otherwise)


def free_port():
    """A port free for TCP and UDP at all addresses, outside the range of ephemeral ports."""
    while True:
        port = random.randrange(20000, 32768)
        with socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
            try:
                stream.bind(("", port))
                datagrams.bind(("", port))
                return port
            except OSError:
                continue


class Gateway:
    def __init__(self, name, port=None, at=(), host="127.0.0.1", inside=None, data=None, through=(), more=(), base=""):
        """`inside` is the command that gets into a host of the laboratory; there others are found by Avahi. What it keeps
        lies in `data`, or in a folder that goes with it. `through` is what becomes it, and `more` what it is told besides; clients
        find it below the path `base`.
        """
        self.name = name
        self.inside = inside
        self.port = port or free_port()
        self.at = at
        self.base = base
        self.url = f"http://{host}:{self.port}{base}"
        self.folder = tempfile.mkdtemp(prefix="vicinity-dashboard-")
        self.data = data or self.folder
        self.through, self.more = list(through), list(more)
        self.token = None
        self.starts = 0
        self.start()

    def start(self):
        self.spawn()
        self.wait_for_code()

    def spawn(self):
        self.starts += 1
        command = [PROGRAM, "serve", "--show-code", "--json", "--name", self.name, "--port", str(self.port)]
        command += ["--site", os.path.join(ROOT, "public"), *self.more]
        if self.base:
            command += ["--base-path", self.base]
        if self.inside:
            command = self.inside + ["env", f"XDG_DATA_HOME={self.data}"] + command
        else:
            command += ["--discovery", "static"]
        for port in self.at:
            command += ["--at", f"127.0.0.1:{port}"]
        environment = {**os.environ, "XDG_DATA_HOME": self.data}
        self.log = open(os.path.join(self.folder, "log"), "w", encoding="utf-8")
        self.process = subprocess.Popen(
            self.through + command, stdout=subprocess.PIPE, stderr=self.log, env=environment, text=True, start_new_session=True)

    def wait_for_code(self):
        # A program that prints nothing is killed, which ends the reading below.
        alarm = signal.signal(signal.SIGALRM, lambda *_: self.process.kill())
        signal.alarm(START_SECONDS_MAX)
        for line in self.process.stdout:
            said = json.loads(line)
            if said["event"] == "pairingCode":
                self.code = said["code"]
                break
        else:
            self.process.wait()
            with open(self.log.name, encoding="utf-8") as log:
                raise RuntimeError(f"{self.name} did not start, and ended with {self.process.returncode}: {log.read()[-4000:]}")
        signal.alarm(0)
        signal.signal(signal.SIGALRM, alarm)

    @property
    def number(self):
        """The number of its process: who enters a host's namespaces is the parent of that."""
        if not self.inside:
            return self.process.pid
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as children:
            return int(children.read())

    def stop(self, by=signal.SIGTERM):
        os.kill(self.number, by)
        self.process.wait(START_SECONDS_MAX)
        self.process.stdout.close()
        self.log.close()

    def close(self):
        self.stop()
        shutil.rmtree(self.folder)

    # Requests of a program

    def ask(self, method, path, body=None, kind="application/json"):
        data = json.dumps(body).encode() if kind == "application/json" and body is not None else body
        request = urllib.request.Request(self.url + path, method=method, data=data)
        request.add_header("Content-Type", kind)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=START_SECONDS_MAX) as answer:
                said = answer.read()
                return json.loads(said) if "json" in (answer.headers["Content-Type"] or "") else said
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path} was answered {error.code}: {error.read().decode()}") from None

    def operator(self):
        """Spends the code of the start; pages come in by codes that the operator makes."""
        if not self.token:
            self.token = self.ask("POST", "/v1/pairings", {"code": self.code, "name": "tests"})["token"]
        return self

    def new_code(self, role="member"):
        return self.operator().ask("POST", "/v1/pairing-codes", {"role": role})["code"]

    def sign_others_out(self, kept=("tests",)):
        for client in self.operator().ask("GET", "/v1/clients")["items"]:
            if client["name"] not in kept:
                self.ask("DELETE", f"/v1/clients/{client['id']}")
