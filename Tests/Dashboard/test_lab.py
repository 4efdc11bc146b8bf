"""Three hosts of a network: a browser at the gateway of each of two, and the command line on the third."""

import json
import os
import shlex
import subprocess
import tempfile

from gateway import PROGRAM, Gateway
from lab import Lab
from stage import CHROMIUM, PHONE, Stage, expect


class ThreeHosts(Stage):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.lab = Lab(3)
        cls.gateways = [Gateway(name, 7777, inside=host) for name, host in zip(["Stage", "Foyer"], cls.lab.hosts)]
        cls.folder = tempfile.TemporaryDirectory()
        cls.browsers = [cls.browser_on(host, number) for number, host in enumerate(cls.lab.hosts[:2])]

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

    def sign_out(self):
        """Nobody of another test is here."""

    def person(self, number, name, **looks):
        self.browser = self.browsers[number]
        page = self.page(self.gateways[number], **looks)
        self.come_in(page, self.gateways[number].code, name)
        return page

    def test_p_app_1_p_app_4_two_browsers_and_a_command_line_talk_in_one_session(self):
        # No way leads out of their network: all that the pages need comes from their gateways.
        for host in self.lab.hosts:
            for family in ("-4", "-6"):
                self.assertEqual("", subprocess.check_output(host + ["ip", family, "route", "show", "default"], text=True))
        ada = self.person(0, "Ada")
        ben = self.person(1, "Ben", size=PHONE, dark=True)
        cleo = Program(self.lab.hosts[2], ["advertise", "adhoc", "--name", "Cleo", "--accept"])
        self.addCleanup(cleo.close)
        self.invite(ada, "Ben", "All three?")
        self.answer(ben, "Accept")
        expect(self.neighbour(ada, "Ben")).to_contain_text("In this session")
        self.invite(ada, "Cleo")
        expect(self.neighbour(ada, "Cleo")).to_contain_text("In this session")
        # The peer that Ada has brought in is in Ben's session as well.
        self.turn(ben, "Nearby")
        expect(self.neighbour(ben, "Cleo")).to_contain_text("In this session")
        self.say(ada, "Hello from a desktop")
        self.say(ben, "Hello from a phone")
        for text in ("Hello from a desktop", "Hello from a phone"):
            cleo.hear("message", text)
        cleo.say("say hello from a terminal")
        for page in (ada, ben):
            self.turn(page, "Session")
            expect(self.message(page, "hello from a terminal")).to_be_visible()
        expect(self.message(ben, "Hello from a desktop")).to_be_visible()
        expect(self.message(ada, "Hello from a phone")).to_be_visible()
        self.picture(ada, "three-hosts")
        self.picture(ben, "three-hosts-phone-dark")


class Program:
    """The command line on a host, which prints a JSON object a line."""

    def __init__(self, host, arguments):
        self.process = subprocess.Popen(
            host + [PROGRAM] + arguments + ["--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self, event, text):
        for line in self.process.stdout:
            said = json.loads(line)
            if said["event"] == event and said.get("text") == text:
                return
        raise AssertionError(f"the program ended before it told '{text}'")

    def close(self):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()
