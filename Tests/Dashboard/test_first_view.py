"""The first view: small over the wire, from the gateway alone, asked for at once, and nothing moves in it."""

import os
import re
import unittest

from gateway import ROOT
from stage import PHONE, Stage, expect

WIRE_BYTES_MAX = 120_000
# The elements that have moved until now without a click or a key, and how far.
SHIFTS = """new Promise((resolve) => {
  const name = ({ node, previousRect, currentRect }) => [node?.outerHTML?.slice(0, 160), JSON.stringify(previousRect), JSON.stringify(currentRect)]
  new PerformanceObserver((list) => resolve(
    list.getEntries().filter((one) => !one.hadRecentInput).map(({ value, sources }) => [value, sources.map(name)])))
    .observe({ type: 'layout-shift', buffered: true })
  setTimeout(() => resolve([]), 500)
})"""
# The row of who has cancelled an invitation says so.
ROW_SHIFT_MAX = 0.01
SIZES = """performance.getEntries().filter((one) => ['navigation', 'resource'].includes(one.entryType) && !one.name.includes('/v1/'))
  .map((one) => [new URL(one.name).origin, one.transferSize])"""


class Preloads(unittest.TestCase):
    def test_page_names_each_module_so_that_all_are_asked_for_at_once(self):
        public = os.path.join(ROOT, "public")
        with open(os.path.join(public, "index.html"), encoding="utf-8") as file:
            named = re.findall(r'rel="modulepreload" href="([^"]+)"', file.read())
        modules, found = set(), ["app/main.js"]
        while found:
            path = found.pop()
            if path in modules:
                continue
            modules.add(path)
            with open(os.path.join(public, path), encoding="utf-8") as file:
                names = re.findall(r"from '(\.[^']+)'", file.read())
            found += [os.path.normpath(os.path.join(os.path.dirname(path), name)) for name in names]
        self.assertEqual(sorted(modules), sorted([*named, "app/main.js"]))


class FirstViewStage(Stage):
    gateway_count = 1

    def advertise(self, name):
        """Somebody who is there as a program, with a session."""
        gateway = self.gateways[0].operator()
        peer = gateway.ask("POST", "/v1/peers", {"displayName": name})["id"]
        self.addCleanup(gateway.ask, "DELETE", f"/v1/peers/{peer}")
        gateway.ask("POST", "/v1/advertisers", {"peer": peer, "serviceType": "adhoc"})
        return gateway.ask("POST", "/v1/sessions", {"peer": peer})


class FirstView(FirstViewStage):
    def test_first_view_is_small_and_comes_from_the_gateway_alone(self):
        gateway = self.gateways[0]
        page = self.page(gateway, PHONE)
        expect(page.get_by_label("Pairing code")).to_be_visible()
        entries = page.evaluate(SIZES)
        self.assertEqual({gateway.url}, {origin for origin, _ in entries})
        self.assertLessEqual(sum(size for _, size in entries), WIRE_BYTES_MAX)
        self.assertEqual([], page.evaluate(SHIFTS))
        self.come_in(page, gateway.new_code(), "Ada")
        page.reload()
        expect(page.locator(".count")).to_be_visible()
        self.assertEqual([], page.evaluate(SHIFTS))

    def test_nothing_moves_for_an_invitation_nor_for_a_gateway_that_is_away(self):
        gateway = self.gateways[0]
        ada = self.enter(gateway, "Ada", size=PHONE)
        # A list that grows moves what lies below it, and nothing else does: not a round trip either.
        session = self.advertise("Cleo")
        expect(self.neighbour(ada, "Cleo")).to_be_visible()
        before = len(ada.evaluate(SHIFTS))
        expect(self.neighbour(ada, "Cleo").locator(".reach")).not_to_be_empty()
        operator = gateway.operator()
        invited = operator.ask("POST", "/v1/invitations", {
            "peer": session["peer"], "session": session["id"], "serviceType": "adhoc",
            "to": ada.evaluate("JSON.parse(localStorage.vicinity).peer")})
        expect(ada.locator(".ring")).to_be_visible()
        operator.ask("PATCH", f"/v1/invitations/{invited['id']}", {"state": "cancelled"})
        expect(ada.locator(".ring")).to_have_count(0)
        gateway.stop()
        expect(ada.get_by_text("Trying again")).to_be_visible()
        gateway.start()
        expect(ada.locator(".state")).to_have_text("Online", timeout=30_000)
        expect(ada.get_by_text("Trying again")).to_be_hidden()
        shifts = ada.evaluate(SHIFTS)[before:]
        self.assertLess(sum(value for value, _ in shifts), ROW_SHIFT_MAX, shifts)
