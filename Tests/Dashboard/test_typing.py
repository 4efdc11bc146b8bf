"""Typing and absence: the others see both."""

import os
import subprocess
import tempfile

from gateway import PROGRAM
from stage import PHONE, Stage, expect


class Typing(Stage):
    def test_others_see_who_writes_until_the_message_is_there(self):
        ada = self.enter(self.gateways[0], "Ada")
        ben = self.enter(self.gateways[1], "Ben", size=PHONE)
        self.meet(ada, "Ada", ben, "Ben")
        expect(ben.locator(".typing")).to_be_hidden()
        box = ada.get_by_role("textbox", name="Message")
        # A report is a datagram, which may be lost; the next one is due after some seconds.
        for typed in ("H", "He", "Hel"):
            box.press_sequentially(typed[-1])
            ada.wait_for_timeout(500)
            if ben.locator(".typing").is_visible():
                break
            ada.wait_for_timeout(3_000)
        expect(ben.locator(".typing")).to_have_text("Ada is typing…")
        expect(ada.locator(".typing")).to_be_hidden()
        self.picture(ben, "typing-phone")
        box.press_sequentially("Hello"[len(typed):])
        box.press("Enter")
        expect(self.message(ben, "Hello")).to_be_visible()
        expect(ben.locator(".typing")).to_be_hidden()
        expect(ben.locator(".message")).to_have_count(1)
        # The typing mark goes soon after somebody stops writing.
        box.press_sequentially("or not")
        expect(ben.locator(".typing")).to_be_visible()
        expect(ben.locator(".typing")).to_be_hidden()

    def test_terminal_shows_no_line_for_somebody_who_writes(self):
        ada = self.enter(self.gateways[0], "Ada")
        # The session opens before Cleo comes, whose invitation would wait for an answer otherwise.
        self.let_everybody_join(ada)
        with tempfile.TemporaryDirectory() as folder:
            arguments = [PROGRAM, "adhoc", "--name", "Cleo", "--keys", "ephemeral", "--discovery", "static"]
            for gateway in self.gateways:
                arguments += ["--at", f"127.0.0.1:{gateway.port}"]
            cleo = subprocess.Popen(
                arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "XDG_DATA_HOME": folder})
            self.addCleanup(cleo.communicate)
            self.addCleanup(cleo.kill)
            self.turn(ada, "Session")
            expect(ada.locator(".roomhead")).to_contain_text("1 person connected")
            box = ada.get_by_role("textbox", name="Message")
            with ada.expect_response(lambda answer: answer.request.method == "POST" and "unreliable" in answer.url):
                box.press_sequentially("Hello")
            box.press("Enter")
            lines = []
            for line in cleo.stdout:
                lines.append(line.rstrip("\n"))
                if line.endswith(": Hello\n"):
                    break
            self.assertEqual([], [line for line in lines if "typing" in line], lines)
