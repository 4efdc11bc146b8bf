"""The cards of Bluetooth devices that want to be paired, in a browser, beside a gateway that is played by the test."""

import functools
import http.server
import os
import threading
import unittest

from gateway import ROOT
from playwright.sync_api import sync_playwright
from stage import CHROMIUM, PHONE, expect

# A home as the cards need it, which remembers the requests.
BEGIN = """async (items) => {
  const [{ pairingCards }, { useLanguage }] = await Promise.all([import('/app/pairings.js'), import('/app/texts.js')])
  await useLanguage()
  document.head.innerHTML = '<link rel="stylesheet" href="/app/layout.css"><link rel="stylesheet" href="/app/parts.css">'
  document.body.innerHTML = '<section></section>'
  window.asked = []
  window.home = {
    openPairings: items, attempt: (work) => work(),
    gateway: { patch: async (path, body) => { window.asked.push([path, body]) } },
  }
  window.cards = pairingCards(window.home, document.querySelector('section'))
  window.cards.update()
}"""
PHONE_OF_ANNA = {"id": "q1", "device": "00:AA:01:00:00:42", "displayName": "<b>Anna's phone</b>", "number": "042117",
                 "state": "pending", "expiresAt": "2999-01-01T00:00:00.000Z"}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Pairings(unittest.TestCase):
    def setUp(self):
        handler = functools.partial(Quiet, directory=os.path.join(ROOT, "public"))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        browsers = sync_playwright().start()
        self.addCleanup(browsers.stop)
        browser = browsers.chromium.launch(executable_path=CHROMIUM)
        self.addCleanup(browser.close)
        self.context = lambda language: browser.new_context(locale=language, viewport=PHONE)
        self.address = f"http://127.0.0.1:{server.server_port}/client/README.md"

    def begin(self, *items, language="en"):
        page = self.context(language).new_page()
        page.goto(self.address)
        page.evaluate(BEGIN, list(items))
        return page

    def test_a_number_is_shown_to_compare_and_the_answer_goes_to_the_gateway(self):
        page = self.begin(PHONE_OF_ANNA)
        # The name is the text of a stranger.
        card = page.get_by_role("dialog", name="Pair with the Bluetooth device <b>Anna's phone</b>?")
        expect(card).to_contain_text("042117")
        expect(card).to_contain_text("Accept only if it does.")
        expect(card).to_contain_text("00:AA:01:00:00:42")
        card.get_by_role("button", name="Decline").click()
        card.get_by_role("button", name="Accept").click()
        self.assertEqual([["/v1/bluetooth-pairings/q1", {"state": state}] for state in ("declined", "accepted")], page.evaluate("asked"))
        page.evaluate("() => { home.openPairings = []; cards.update() }")
        expect(card).to_have_count(0)

    def test_a_device_without_a_name_and_a_number_is_known_by_its_address(self):
        page = self.begin({**PHONE_OF_ANNA, "displayName": None, "number": None}, language="de")
        card = page.get_by_role("dialog", name="Mit dem Bluetooth-Gerät 00:AA:01:00:00:42 koppeln?")
        expect(card).to_contain_text("keine Zahl")
        expect(card.locator("output")).to_have_count(0)
        expect(card.get_by_role("button", name="Ablehnen")).to_be_visible()
