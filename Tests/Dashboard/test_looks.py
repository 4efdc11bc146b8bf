"""Long texts lie within the window at every width, and a connection that is not protected is named."""

import re

from looks import OUTSIDE, SMALL
from stage import DESKTOP, PHONE, Stage, expect, own_address

# A phone, what has one view at a time and hardly more, a tablet, and a desk.
WIDTHS = {"phone": PHONE, "narrow": {"width": 899, "height": 620}, "tablet": {"width": 900, "height": 620}, "desktop": DESKTOP}


class LongTexts(Stage):
    def test_long_names_and_words_fit_at_every_width(self):
        page = self.enter(self.gateways[0], "Ada")
        long_name = "Benjamin Britten of Aldeburgh, and his friends"
        ben = self.enter(self.gateways[1], long_name)
        expect(self.neighbour(page, "Benjamin")).to_be_visible()
        self.check(page, "nearby")
        self.invite(page, "Benjamin", "Come")
        self.answer(ben, "Accept")
        self.turn(page, "Session")
        expect(page.locator(".roomhead")).to_contain_text("connected")
        self.say(page, "A word that is too long for any line: " + "a" * 200)
        expect(page.locator(".message").last).not_to_contain_text("Sending")
        page.get_by_role("button", name="Members").click()
        self.check(page, "session")
        page.get_by_role("button", name="Leave", exact=True).click()
        self.check(page, "leaving")
        page.get_by_role("button", name="Leave and delete").click()
        expect(page.locator(".undo")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        page.goto(f"{self.gateways[0].url}/#map")
        expect(page.locator(".person")).to_have_count(2)
        self.check(page, "map")
        for way in ("Console", "Gateway"):
            self.turn(page, way)
            self.check(page, way.lower())
        page.get_by_role("button", name="Delete my data and leave").click()
        page.get_by_role("button", name="Delete and leave").click()
        expect(page.get_by_label("Pairing code")).to_be_visible()

    def check(self, page, what):
        for name, size in WIDTHS.items():
            page.set_viewport_size(size)
            self.picture(page, f"long-{what}-{name}")
            for found in (OUTSIDE, SMALL):
                self.assertEqual([], page.evaluate(found), f"{what}, {name}")
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), size["width"], f"{what}, {name}")

    def test_connection_that_is_not_protected_is_named(self):
        gateway = self.gateways[0]
        page = self.page(gateway)
        expect(page.locator(".note")).to_have_count(0)
        address = own_address()
        if address is None:
            self.skipTest("this machine has no address but loopback")
        page.goto(f"http://{address}:{gateway.port}")
        expect(page.locator(".note")).to_contain_text("This connection is not encrypted")
        expect(page.get_by_role("link", name="Open the encrypted page")).to_have_attribute(
            "href", f"https://{address}:{gateway.port}/")
        self.picture(page, "unprotected")
        page.get_by_role("link", name="Open the encrypted page").click()
        question = page.get_by_role("dialog", name="Your browser will warn you first")
        expect(question.locator("code")).to_have_text(re.compile(r"^([0-9a-f]{2}:){31}[0-9a-f]{2}$"))
        self.picture(page, "warning-explained")
        question.get_by_role("button", name="Cancel").click()
        self.come_in(page, gateway.new_code(), "Ada")
        expect(page.locator(".notes")).to_contain_text("This connection is not encrypted")
        self.picture(page, "unprotected-in")

    def test_protected_page_is_one_that_a_device_trusts_and_says_nothing_of_it(self):
        gateway = self.gateways[0]
        address = own_address() or "127.0.0.1"
        context = self.browser.new_context(viewport=DESKTOP, ignore_https_errors=True)
        self.contexts.append(context)
        page = context.new_page()
        page.faults = []
        page.goto(f"https://{address}:{gateway.port}")
        expect(page.locator(".note")).to_have_count(0)
        self.come_in(page, gateway.new_code(), "Ada")
        expect(page.locator(".notes")).not_to_contain_text("not encrypted")
        cookies = context.cookies()
        self.assertEqual([True], [cookie["secure"] for cookie in cookies])
        self.assertTrue(cookies[0]["name"].startswith("__Host-"))
