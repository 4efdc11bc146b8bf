"""People on hosts of the laboratory: in front of browsers at gateways, and of the command line."""

import contextlib
import json
import os
import queue
import re
import shlex
import subprocess
import tempfile
import threading
import time

from gateway import PATIENCE_SECONDS, PROGRAM, Gateway
from guests import GUEST, Guests
from lab import Lab
from stage import CHROMIUM, MICROPHONE

# A person deletes what is theirs, and so each test begins among strangers.
LEAVE = """async () => {
  const { csrf } = JSON.parse(localStorage.vicinity ?? '{}')
  if (csrf) await fetch('/v1/clients/self', { method: 'DELETE', headers: { 'X-Vicinity-CSRF': csrf } })
}"""


class LabStage(Guests):
    """Gateways on the first two hosts, and the command line on the third."""

    host_count = 3
    # The hosts of the browsers of those two gateways.
    seats = (0, 1)
    browser_options = MICROPHONE

    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.lab = Lab(cls.host_count)
        cls.gateways = [Gateway(name, 7777, inside=host) for name, host in zip(["Stage", "Foyer"], cls.lab.hosts)]
        for number, (gateway, seat) in enumerate(zip(cls.gateways, cls.seats)):
            # A browser on another host reaches the gateway by its address.
            if seat != number:
                gateway.url = f"https://10.77.0.{number + 1}:{gateway.port}"
        cls.folder = tempfile.TemporaryDirectory()
        cls.browsers = [cls.browser_on(cls.lab.hosts[seat], number) for number, seat in enumerate(cls.seats)]

    @classmethod
    def browser_on(cls, host, number):
        """The browser's program is a file, so the way into the host is one too."""
        path = os.path.join(cls.folder.name, f"chromium-{number}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {shlex.join(host)} {CHROMIUM} "$@"\n')
        os.chmod(path, 0o755)
        return cls.launch(path)

    @classmethod
    def tearDownClass(cls):
        for browser in cls.browsers:
            browser.close()
        cls.playwright.stop()
        for gateway in cls.gateways:
            gateway.close()
        cls.lab.close()
        cls.folder.cleanup()

    def tearDown(self):
        for page in [page for context in self.contexts for page in context.pages]:
            page.evaluate(LEAVE)
            page.goto("about:blank")
        super().tearDown()

    def sign_out(self):
        """Everybody has left."""

    def person(self, number, name, **looks):
        self.browser = self.browsers[number]
        gateway = self.gateways[number]
        page = self.page(gateway, **looks)
        pair = [*gateway.inside, "env", f"XDG_DATA_HOME={gateway.data}", PROGRAM, "pair", "--json"]
        self.come_in(page, json.loads(subprocess.check_output(pair, text=True))["code"], name)
        return page

    def guest(self, link):
        """A phone on the second host, which opens the link of a wall past the warning of its browser."""
        self.browser = self.browsers[1]
        phone = self.tab(GUEST, ignores_certificates=True)
        phone.goto(link)
        return phone

    def program(self, *arguments, name="Cleo"):
        program = Program(self.lab.hosts[2], [*arguments, "--name", name, "--keys", "ephemeral"])
        self.addCleanup(program.close)
        return program

    @contextlib.contextmanager
    def fault(self, command):
        """A fault of a cable while a block runs."""
        self.lab.say(command)
        try:
            yield
        finally:
            self.lab.say(f"mend {command.split()[1]}")


class Program:
    """The command line on a host, which prints a JSON object a line."""

    def __init__(self, host, arguments):
        self.process = subprocess.Popen(
            host + [PROGRAM] + arguments + ["--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.told, self.heard = [], 0
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self, event, **wanted):
        """The next event that is like this; a pattern fits what it is found in."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            for said in self.told[self.heard:]:
                self.heard += 1
                if said["event"] == event and all(fits(said.get(name), value) for name, value in wanted.items()):
                    return said
            try:
                said = self.lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                said = None
            if said is None:
                raise AssertionError(f"the program told of no {event} with {wanted}, but {self.told}")
            self.told.append(said)

    def all(self, event):
        """All that came of it by now."""
        while not self.lines.empty():
            said = self.lines.get()
            if said is None:
                self.lines.put(None)
                break
            self.told.append(said)
        return [said for said in self.told if said["event"] == event]

    def close(self):
        if self.process.stdout.closed:
            return
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait(10)
        self.reader.join(10)
        self.process.stdout.close()


def fits(said, wanted):
    return wanted.search(said or "") is not None if isinstance(wanted, re.Pattern) else said == wanted
