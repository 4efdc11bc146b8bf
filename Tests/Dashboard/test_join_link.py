"""The links by which other devices join: where they lead, and what stands behind the `#`."""

import unittest

from guests import OperatorStage
from stage import DESKTOP, expect
from test_looks import own_address
from test_timeline import run

URLS = ["https://192.168.1.5:7777/x", "http://192.168.1.5:7777/x"]


class Addresses(unittest.TestCase):
    def address(self, role, here, urls=URLS):
        return run("join-link.js", f"console.log(JSON.stringify(all.addressFor('{role}', '{here}', {urls})))")

    def test_guests_and_members_are_led_to_plain_http_and_operators_never(self):
        safe, plain = URLS
        for role, expected in (("viewer", plain), ("member", plain), ("operator", safe), ("admin", safe)):
            self.assertEqual(expected, self.address(role, "http://localhost:7777/x"), role)
            self.assertEqual(expected.replace("192.168.1.5", "box.local"), self.address(role, "https://box.local:7777/x"), role)
        # With HTTPS alone, and behind a proxy with a certificate of its own.
        self.assertEqual(safe, self.address("member", "http://localhost:7777/x", [safe]))
        self.assertEqual("https://box.example/x", self.address("member", "https://box.example/x"))

    def test_what_is_behind_an_address_is_read_as_it_was_written(self):
        peer = "o5wc677ydd4mdmqpxhdagptaha"
        for what in ({"code": "ABCD-EFGH", "guest": None}, {"code": "ABCD-EFGH", "guest": {"type": "wall-abcd", "peer": peer}}):
            said = run("join-link.js", f"console.log(JSON.stringify(all.readLink(all.behind({what}))))".replace("None", "null"))
            self.assertEqual(what, said)


class Explained(OperatorStage):
    def test_link_of_a_guest_says_which_warning_will_come_and_leads_on_to_https(self):
        if own_address() is None:
            self.skipTest("this machine has no address but loopback")
        host = self.operator(view="Photos")
        host.get_by_role("button", name="Open a photo wall").click()
        link = host.get_by_role("link", name="Open link").get_attribute("href")
        self.assertRegex(link, r"^http://.*#code=.*&wall=")
        context = self.browser.new_context(viewport=DESKTOP, ignore_https_errors=True)
        self.contexts.append(context)
        guest = context.new_page()
        guest.faults = []
        guest.goto(link)
        guest.get_by_role("link", name="Open the encrypted page").click()
        guest.get_by_role("dialog", name="Your browser will warn you first").get_by_role("button", name="Continue").click()
        expect(guest).to_have_url(link.split("#")[0].replace("http:", "https:"))
        expect(guest.get_by_label("Pairing code")).to_have_count(0)
        self.join_as_guest(guest, "Gina")
        expect(host.locator(".wallbar")).to_contain_text("1 guest")
