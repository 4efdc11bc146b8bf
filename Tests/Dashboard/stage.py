"""Gateways that know each other, browsers with people in front of them, and what these do."""

import functools
import json
import os
import socket
import subprocess
import tempfile
import unittest

from playwright.sync_api import expect, sync_playwright

from gateway import ROOT, Gateway, free_port

PICTURES = os.environ.get("DASHBOARD_PICTURES", os.path.join(ROOT, ".build", "dashboard", "pictures"))
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1280, "height": 800}
PATIENCE_MILLISECONDS = 60_000
# Options for a microphone that beeps, which nobody is asked to allow.
MICROPHONE = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--autoplay-policy=no-user-gesture-required"]

# The script for a language that is written from right to left.
RIGHT_TO_LEFT = "addEventListener('DOMContentLoaded', () => { document.documentElement.dir = 'rtl' })"

expect.set_options(timeout=PATIENCE_MILLISECONDS)


def catalogue(language, folder="app"):
    """The texts of the page in a language, by their keys; those of the examples are in a folder of their own."""
    path = os.path.join(ROOT, "public", folder, "texts", f"{language}.js")
    code = f"import({json.dumps(path)}).then((all) => console.log(JSON.stringify(all.default)))"
    node = os.environ.get("NODE", "node")
    return json.loads(subprocess.check_output([node, "--input-type=module", "-e", code], stderr=subprocess.DEVNULL))


@functools.cache
def translations(language):
    """English texts, and what they are in the language."""
    if language == "en":
        return {}
    texts = catalogue(language)
    return {text: texts[key] for key, text in catalogue("en").items() if isinstance(text, str)}


def own_address():
    """The address at which others reach this machine; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address = probe.getsockname()[0]
        return None if address.startswith("127.") else address


class Stage(unittest.TestCase):
    """Two gateways for all tests of a class, and pages that are closed after each."""

    gateway_count = 2
    browser_options = []
    gateway_names = ["Stage", "Foyer", "Office"]

    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.browser = cls.launch(CHROMIUM)
        ports = [free_port() for _ in range(cls.gateway_count)]
        cls.gateways = [
            Gateway(name, port, [other for other in ports if other != port])
            for name, port in zip(cls.gateway_names, ports)]

    @classmethod
    def begin(cls):
        os.makedirs(PICTURES, exist_ok=True)
        cls.playwright = sync_playwright().start()

    @classmethod
    def launch(cls, program):
        return cls.playwright.chromium.launch(executable_path=program, args=["--no-sandbox", *cls.browser_options])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()
        for gateway in cls.gateways:
            gateway.close()

    def setUp(self):
        self.contexts = []

    def tearDown(self):
        for context in self.contexts:
            for page in context.pages:
                self.assertEqual([], page.faults, "what the page's console has against it")
            context.close()
        self.sign_out()

    def sign_out(self):
        """A peer stays when its page is closed; each test begins among strangers."""
        for gateway in self.gateways:
            gateway.sign_others_out()

    # Pages

    def file(self, name, content):
        """The path of a file that is there until the test ends."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    @staticmethod
    def card(page, name):
        """The card of a file in a session."""
        return page.locator(".scroller .fileline").filter(has_text=name)

    def page(self, gateway, size=None, dark=False, **looks):
        page = self.tab(size, dark, ignores_certificates=gateway.url.startswith("https"), **looks)
        page.goto(gateway.url)
        return page

    def tab(self, size=None, dark=False, *, language="en-US", right_to_left=False, script=None, ignores_certificates=False):
        """An empty page of a person of its own; `script` runs first in each page that is opened in it."""
        context = self.browser.new_context(
            viewport=size or DESKTOP, color_scheme="dark" if dark else "light", accept_downloads=True,
            reduced_motion="reduce", locale=language, ignore_https_errors=ignores_certificates)
        self.contexts.append(context)
        for early in [RIGHT_TO_LEFT] * right_to_left + [script] * (script is not None):
            context.add_init_script(early)
        page = context.new_page()
        page.words = translations(language.split("-")[0])
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        page.faults = []
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("console", lambda line: self.heed(page, line))
        return page

    @staticmethod
    def heed(page, line):
        """Collects errors and blocked resources; a gateway that is away, or refuses, is no fault of the page."""
        if line.type == "error" and "Failed to load resource" not in line.text and "WebSocket connection" not in line.text:
            page.faults.append(line.text)

    def enter(self, gateway, name, *, role="member", size=None, dark=False):
        """Somebody opens the page, types the code and a name, and is in."""
        page = self.page(gateway, size, dark)
        self.come_in(page, gateway.new_code(role), name)
        return page

    @staticmethod
    def word(page, text):
        """An English text in the language of the page."""
        return getattr(page, "words", {}).get(text, text)

    def come_in(self, page, code, name):
        page.get_by_label(self.word(page, "Pairing code")).fill(code)
        page.get_by_label(self.word(page, "Your name")).fill(name)
        page.get_by_role("button", name=self.word(page, "Join")).click()
        expect(page.locator(".state")).to_have_text(self.word(page, "Online"))

    @staticmethod
    def slow_down(page, bytes_per_second):
        """Limits the page's HTTP throughput to that of a slow network; its WebSockets stay as they are."""
        page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", {
            "offline": False, "latency": 0, "uploadThroughput": bytes_per_second, "downloadThroughput": bytes_per_second})

    def picture(self, page, name):
        page.screenshot(path=os.path.join(PICTURES, f"{name}.png"))

    # Actions of people

    def turn(self, page, way):
        """Turns to a view: Nearby, Sessions, Photos, Console, Gateway."""
        page.get_by_role("link", name=self.word(page, way)).click()

    @staticmethod
    def neighbour(page, name):
        return page.locator(".nearby > .people > li").filter(has_text=name)

    def invite(self, page, name, note=""):
        self.turn(page, "Nearby")
        self.neighbour(page, name).get_by_role("button", name=self.word(page, "Invite")).click()
        self.neighbour(page, name).get_by_label(self.word(page, "Add a note (optional)")).fill(note)
        self.neighbour(page, name).get_by_role("button", name=self.word(page, "Send")).click()

    def answer(self, page, word):
        page.locator(".ring").get_by_role("button", name=self.word(page, word)).click()

    def meet(self, a, name_a, b, name_b):
        """One person invites, the other accepts, and both are connected."""
        self.invite(a, name_b)
        self.answer(b, "Accept")
        for page in (a, b):
            self.turn(page, "Session")
            expect(page.locator(".roomhead")).to_contain_text("1 person connected")

    def let_everybody_join(self, page, answer="Let everyone join"):
        self.turn(page, "Nearby")
        # The page has its session by then.
        expect(page.locator(".roomhead")).to_contain_text("connected")
        page.get_by_role("radio", name="Everyone").click()
        page.get_by_role("dialog").get_by_role("button", name=answer).click()
        expect(page.get_by_role("radio", name="Everyone")).to_be_checked()

    def say(self, page, text):
        self.turn(page, "Sessions")
        box = page.get_by_role("textbox", name=self.word(page, "Message"))
        box.fill(text)
        box.press("Enter")

    @staticmethod
    def message(page, text):
        return page.locator(".message .text").filter(has_text=text)
