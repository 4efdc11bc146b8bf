"""Helpers of Tests/Package/run: commands, waiting, hosts that are namespaces, and clients of a gateway."""

import ctypes
import glob
import http.client
import json
import os
import re
import ssl
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PACKAGES = os.path.join(ROOT, ".build", "package")
PATIENCE_SECONDS = 60

libc = ctypes.CDLL(None, use_errno=True)


class Fault(Exception):
    """The package or the image does not do what the documentation says."""


def expect(holds, otherwise):
    if not holds:
        raise Fault(otherwise)


def until(done, otherwise, seconds=PATIENCE_SECONDS):
    """Polls until `done` returns something true; `otherwise` is a text, or makes one."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if found := done():
                return found
        except (OSError, http.client.HTTPException, KeyError, Fault):
            pass
        time.sleep(0.1)
    raise Fault(otherwise() if callable(otherwise) else otherwise)


def run(*command, seconds=300, code=0, **more):
    """The output of a command, and its errors; `code` is the exit code to expect, or None for any but 0."""
    done = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, **more)
    if (done.returncode == 0) if code is None else (done.returncode != code):
        raise Fault(f"'{' '.join(map(str, command))}' ended with {done.returncode}: {done.stdout[-3000:]}")
    return done.stdout


def words(text):
    """The text on one line."""
    return " ".join(text.split())


def note(text):
    print(f"  {text}", flush=True)


def the_package():
    found = glob.glob(f"{PACKAGES}/vicinity_*.deb")
    expect(len(found) == 1, f"there is no package, or more than one, in {PACKAGES}: './vic package' makes it")
    return found[0]


def field(package, name):
    return run("dpkg-deb", "--field", package, name).strip()


def code_of(output):
    return re.search(r"\b[A-Z0-9]{4}-[A-Z0-9]{4}\b", output)[0]


# The operations page


def commands_of_page(files):
    """The commands in docs/operations.md with 'sh package' in their fence, for root without a terminal; `files` has the names of
    packages here for those of the page, in their order."""
    with open(f"{ROOT}/docs/operations.md", encoding="utf-8") as file:
        blocks = re.findall(r"^```sh package\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    commands = [line.removeprefix("sudo ").replace("apt ", "apt-get -y ") for block in blocks for line in block.splitlines()]
    names = iter(files)
    return [re.sub(r"\./vicinity_\S+\.deb", lambda _: f"/packages/{next(names)}", command) for command in commands]


def check_sizes(part):
    """Runs the commands of the size table in docs/operations.md whose row begins with `part`, and holds each to its limit."""
    with open(f"{ROOT}/docs/operations.md", encoding="utf-8") as file:
        rows = re.findall(rf"^\| ({part}\b[^|]*) \| ([\d.]+) MB \| ([\d.]+) MB \| `(.*)` \|$", file.read(), re.MULTILINE)
    expect(rows, f"docs/operations.md has no size of '{part}'")
    for what, told, most, command in rows:
        size = int(run("bash", "-ec", command.replace("\\|", "|"), cwd=ROOT)) / 1e6
        note(f"{what}: {size:.1f} MB, of {most}")
        expect(size <= float(most), f"{what} has {size:.1f} MB, of {most}")
        expect(abs(size - float(told)) <= 0.1 * size, f"{what} has {size:.1f} MB, and docs/operations.md says {told}")


# Clients


class Network:
    """The network of another process, for this thread, until the end of the block."""

    def __init__(self, process):
        self.process = process

    def __enter__(self):
        self.own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        self.enter(os.open(f"/proc/{self.process}/ns/net", os.O_RDONLY))

    def __exit__(self, *_):
        self.enter(self.own)

    @staticmethod
    def enter(network):
        failed = libc.setns(network, 0x40000000) != 0
        os.close(network)
        if failed:
            raise OSError(ctypes.get_errno(), "setns")


class Client:
    """Asks the gateway in the network of a process, over a connection for each request."""

    def __init__(self, process, port=7777, secure=False):
        self.process, self.port, self.secure, self.token = process, port, secure, None

    def once(self, method, path, body=None):
        with Network(self.process):
            if self.secure:
                connection = http.client.HTTPSConnection(
                    "localhost", self.port, timeout=20, context=ssl._create_unverified_context())
            else:
                connection = http.client.HTTPConnection("localhost", self.port, timeout=20)
            headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
            data = body
            if isinstance(body, dict):
                data, headers["Content-Type"] = json.dumps(body), "application/json"
            elif body is not None:
                headers["Content-Type"] = "text/plain"
            try:
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                return answer.status, answer.read().decode()
            finally:
                connection.close()

    def ask(self, method, path, body=None):
        status, text = self.once(method, path, body)
        expect(status < 400, f"{method} {path} was answered {status}: {text[:500]}")
        return json.loads(text) if text.startswith(("{", "[")) else text

    def pair(self, code):
        self.token = self.ask("POST", "/v1/pairings", {"code": code, "name": "browser"})["token"]
        return self

    def is_ready(self):
        return self.once("GET", "/readyz")[0] == 200

    def is_known(self):
        return self.once("GET", "/v1/clients/self")[0] == 200

    def join(self, name, adhoc, history=None):
        self.peer = self.ask("POST", "/v1/peers", {"displayName": name})["id"]
        wish = {"peer": self.peer, "adhoc": adhoc, **({"history": history} if history else {})}
        self.session = f"/v1/sessions/{self.ask('POST', '/v1/sessions', wish)['id']}"
        return self

    def is_connected(self):
        return self.ask("GET", self.session)["connected"] >= 1

    def bodies(self):
        bodies, after = [], ""
        while True:
            page = self.ask("GET", f"{self.session}/messages?limit=1000{after}")
            bodies += [item["body"] for item in page["items"]]
            if "next" not in page:
                return bodies
            after = f"&after={page['next']}"


# Hosts


class Host:
    """One of the hosts that Tests/Package/hosts has made."""

    def __init__(self, folder, number):
        self.folder, self.number = folder, number
        with open(f"{folder}/{number}/pid", encoding="utf-8") as file:
            self.process = int(file.read())

    def command(self, *command):
        return [f"{HERE}/hosts", "in", self.folder, str(self.number), *command]

    def do(self, *command, **more):
        return run(*self.command(*command), **more)

    def podman(self, *arguments, **more):
        return self.do("podman", *arguments, **more)

    def process_of(self, name):
        return int(self.podman("inspect", "--format", "{{.State.Pid}}", name))


def build(name, *arguments, seconds=600):
    """Builds an image, and removes the one that had its name, so that builds do not fill the disk."""

    def number():
        command = ["buildah", "images", "--quiet", f"localhost/{name}"]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()

    old = number()
    run("buildah", "bud", "--isolation", "chroot", "--pull-never", "--format", "docker", "--quiet", *arguments[:-1], "--tag", name,
        arguments[-1], seconds=seconds)
    if old and old != number():
        run("buildah", "rmi", "--force", old)
