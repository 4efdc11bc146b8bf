"""Programs and pages of one's own, with the JavaScript client."""

import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile

from gateway import PATIENCE_SECONDS, PROGRAM, ROOT, until
from stage import Stage

CLIENT = os.path.join(ROOT, "public", "client")
NODE = os.environ.get("NODE", "node")
# A class to pass to the client, as Debian packages it.
WEBSOCKET = """
import { createRequire } from 'node:module'
const { WebSocket } = createRequire(import.meta.url)('/usr/share/nodejs/ws')
"""
# A WebSocket class for programs that pass none.
GLOBAL_WEBSOCKET = WEBSOCKET + "globalThis.WebSocket ??= WebSocket\n"


class Program:
    """A program in Node that prints JSON, or lines of text."""

    def __init__(self, folder, code):
        with open(os.path.join(folder, "program.js"), "w", encoding="utf-8") as file:
            file.write(code)
        self.process = subprocess.Popen(
            [NODE, "program.js"], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.PIPE)
        self.lines = []

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the program ended after {self.lines}: {self.process.stderr.read()}")
        self.lines.append(line.rstrip("\n"))
        return self.lines[-1]

    def until(self, text):
        """The first line that has this text in it."""
        while text not in (line := self.line()):
            pass
        return line

    def told(self):
        return json.loads(self.line())

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.kill()
        self.process.communicate()


class ClientStage(Stage):
    # A page that a test serves comes from no address, and the browser asks before such a page connects to this machine.
    browser_options = ["--disable-features=LocalNetworkAccessChecks"]

    def setUp(self):
        super().setUp()
        self.gateway = self.gateways[0].operator()

    # Programs in Node

    def package(self):
        """A folder with the package as a gateway serves it, unpacked as npm does."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        archive = self.gateway.ask("GET", f"/client/{self.version}/vicinity-client.tgz")
        place = os.path.join(folder.name, "node_modules", "vicinity-client")
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            for member in tar.getmembers():
                path = os.path.join(place, *member.name.split("/")[1:])
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as file:
                    shutil.copyfileobj(tar.extractfile(member), file)
        with open(os.path.join(folder.name, "package.json"), "w", encoding="utf-8") as file:
            file.write('{"type": "module"}')
        return folder.name

    @property
    def version(self):
        return self.gateway.ask("GET", "/v1/gateway")["version"]

    def node(self, code):
        """A program, which is ended with the test."""
        program = Program(self.package(), code)
        self.addCleanup(program.close)
        return program

    def run_node(self, code):
        process = self.node(code).process
        said, faults = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual((0, ""), (process.returncode, faults))
        return said

    def person(self, gateway, name, code):
        """A program with a `peer` of that name, and `tell` to print JSON."""
        return self.node(GLOBAL_WEBSOCKET + f"""
            const {{ Vicinity, Problem }} = await import('vicinity-client')
            const tell = (value) => console.log(JSON.stringify(value))
            const gateway = new Vicinity('{gateway.url}')
            await gateway.pair('{gateway.new_code()}', {{ name: '{name}' }})
            const peer = await gateway.peer({{ name: '{name}' }})
            {code}
        """)

    @staticmethod
    def example(name, gateway):
        """An example of the package, with an address and a code of now."""
        with open(os.path.join(CLIENT, "examples", f"{name}.js"), encoding="utf-8") as file:
            return filled_in(file.read(), gateway)

    # Pages in Chromium

    def client_page(self, gateway, *, context=None, title="A page of one's own"):
        """A page with the client, which has paired if its context had not. It is there while the gateway is away, as a page is that
        the browser has kept."""
        if context is None:
            context = self.browser.new_context()
            self.contexts.append(context)
            context.route(re.compile(r"/(own\.html|vicinity\.js|client/.*)$"), self.serve)
            context.own_code = gateway.new_code()
        page = context.new_page()
        page.faults = []
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("console", lambda line: self.heed(page, line))
        self.open_client(page, gateway)
        return page

    def open_client(self, page, gateway):
        page.goto(f"{gateway.url}/own.html")
        page.evaluate("""async (code) => {
            const client = await import('/vicinity.js')
            const csrf = localStorage.getItem('csrf')
            Object.assign(window, client, { gateway: new client.Vicinity(location.origin, csrf ? { csrf } : {}) })
            if (csrf) return
            const paired = await gateway.pair(code, { name: 'page', cookie: true })
            localStorage.setItem('csrf', paired.csrf)
        }""", page.context.own_code)

    @staticmethod
    def serve(route):
        path = re.sub(r"^https?://[^/]*/", "", route.request.url)
        if path == "own.html":
            return route.fulfill(content_type="text/html", body="<!doctype html><title>A page of one's own</title>")
        with open(os.path.join(ROOT, "public", path), encoding="utf-8") as file:
            route.fulfill(content_type="text/javascript", body=file.read())

    # Peers of the command line

    def native(self, service_type, name):
        """`vicinity chat`, which reads lines and prints JSON."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        arguments = [PROGRAM, "chat", service_type, "--json", "--name", name, "--keys", "ephemeral", "--discovery", "static"]
        for gateway in self.gateways:
            arguments += ["--at", f"127.0.0.1:{gateway.port}"]
        process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            env={**os.environ, "XDG_DATA_HOME": folder.name})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    @staticmethod
    def wait_for(page, expression, otherwise):
        until(lambda: page.evaluate(expression), otherwise)


def filled_in(code, gateway):
    address = next(printed for printed in ("http://localhost:7777", "http://127.0.0.1:7777") if printed in code)
    for printed, own in ((address, gateway.url), ("ABCD-EFGH", gateway.new_code())):
        if printed not in code:
            raise AssertionError(f"{printed} is not in the example any more")
        code = code.replace(printed, own)
    return code
