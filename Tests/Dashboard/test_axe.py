"""axe finds no fault in any view: in light and dark, on a phone and a wide desk, in each language, from either side."""

import importlib.util
import os

from guests import OperatorStage
from stage import expect

AXE = os.path.join(os.path.dirname(importlib.util.find_spec("axe_playwright_python").origin), "axe.min.js")
SIZES = {"narrow": {"width": 320, "height": 640}, "wide": {"width": 1600, "height": 900}}
RUN = """() => axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(
  ({ id, impact, nodes }) => `${impact}: ${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`))"""
# Elements that scroll, or are cut on purpose, may reach out of the window.
OUTSIDE = """() => [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && !e.closest('.scroller, .rooms, .cut, svg, .thumbs'))
  .filter((e) => { const r = e.getBoundingClientRect(); return r.width && (r.right > innerWidth + 1 || r.left < -1) })
  .map((e) => `${e.tagName}.${e.className}`)"""


class Axe(OperatorStage):
    gateway_count = 2
    gateway_names = ["Stage", "Foyer"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(AXE, encoding="utf-8") as file:
            cls.axe = file.read()

    def check(self, page, what):
        with self.subTest(what):
            page.evaluate(self.axe)
            self.assertEqual([], page.evaluate(RUN))
            self.assertEqual([], page.evaluate(OUTSIDE))
            self.picture(page, f"axe-{self.looks}-{what.replace(' ', '-')}")

    def look_at_all(self, looks, size, dark, **how):
        self.looks = looks
        stage, foyer = self.gateways
        ben = self.enter(foyer, "Ben")
        ada = self.page(stage, size, dark, **how)

        def word(text):
            return self.word(ada, text)

        expect(ada.get_by_label(word("Pairing code"))).to_be_visible()
        self.check(ada, "join")
        self.come_in(ada, stage.code, "Ada")
        expect(self.neighbour(ada, "Ben")).to_be_visible()
        self.check(ada, "nearby")
        self.neighbour(ada, "Ben").get_by_role("button", name=word("Invite")).click()
        self.check(ada, "inviting")
        ada.keyboard.press("Escape")
        self.look_at_sheet(ada)
        self.invite(ben, "Ada", "Come over")
        expect(ada.locator(".ring")).to_be_visible()
        self.check(ada, "invited")
        self.answer(ada, "Accept")
        expect(ada.locator(".composer textarea")).to_be_enabled()
        self.say(ada, "Look at https://example.org/")
        expect(self.message(ben, "Look at")).to_be_visible()
        ben.locator(".composer input[type=file]").set_input_files([
            {"name": name, "mimeType": "text/plain", "buffer": b"hello"} for name in ("a.txt", "b.txt")])
        expect(ada.locator(".fileline")).to_have_count(2)
        ben.get_by_role("textbox", name="Message").press_sequentially("I")
        expect(ada.locator(".typing")).to_be_visible()
        self.check(ada, "session")
        ada.get_by_role("button", name=word("Members")).click()
        self.check(ada, "members")
        ada.get_by_role("button", name=word("Verify")).click()
        expect(ada.locator(".compared")).to_be_visible()
        self.check(ada, "comparing")
        ada.get_by_role("button", name=word("They differ")).click()
        expect(ada.locator(".overlay")).to_contain_text(word("The codes differ: someone may be between you. Share nothing confidential."))
        self.check(ada, "codes differ")
        ada.locator(".overlay").get_by_role("button", name=word("Close")).click()
        self.look_at_guests(ada)
        ada.get_by_role("button", name=word("Leave"), exact=True).click()
        self.check(ada, "leaving")
        ada.keyboard.press("Escape")
        ada.goto(f"{stage.url}/#map")
        expect(ada.locator(".person")).to_have_count(2)
        ada.locator(".person").last.focus()
        expect(ada.locator(".details")).to_contain_text("Ben")
        self.check(ada, "map")
        self.turn(ada, "Console")
        expect(ada.locator(".lines li").first).to_be_visible()
        self.check(ada, "console")
        self.turn(ada, "Photos")
        self.check(ada, "no wall")
        ada.get_by_role("button", name=word("Open a photo wall")).click()
        expect(ada.locator(".wallcode img")).to_be_visible()
        self.check(ada, "wall")
        self.look_at_guest(ada, size, dark, **how)
        self.turn(ada, "Gateway")
        ada.get_by_role("button", name=word("Make a code")).click()
        expect(ada.locator(".newcode img")).to_be_visible()
        self.check(ada, "gateway")

    def look_at_sheet(self, page):
        page.get_by_role("button", name=self.word(page, "Stop searching")).click()
        page.get_by_role("button", name=self.word(page, "Invite several people")).click()
        expect(page.get_by_role("dialog").get_by_role("listitem").filter(has_text="Ben")).to_be_visible()
        self.check(page, "gathering")
        page.keyboard.press("Escape")
        page.get_by_role("button", name=self.word(page, "Search again")).click()
        expect(self.neighbour(page, "Ben")).to_be_visible()

    def look_at_guests(self, page):
        page.get_by_role("button", name=self.word(page, "Invite guests")).click()
        dialog = page.get_by_role("dialog", name=self.word(page, "Invite guests"))
        dialog.get_by_role("button", name=self.word(page, "Make a code")).click()
        expect(dialog.get_by_role("img")).to_be_visible()
        self.check(page, "guests")
        dialog.get_by_role("button", name=self.word(page, "Close")).click()

    def look_at_guest(self, host, size, dark, **how):
        guest = self.open_guest(self.gateway, host, size, dark, **how)
        expect(guest.get_by_label(self.word(guest, "Your name"))).to_be_visible()
        self.check(guest, "guest joins")
        self.join_as_guest(guest, "Gina")
        guest.locator("#photos").set_input_files([{"name": "a.txt", "mimeType": "text/plain", "buffer": b"no photo"}])
        expect(guest.locator(".rows li")).to_contain_text(self.word(guest, "On the wall"))
        self.check(guest, "guest")

    def test_axe_finds_nothing_on_a_narrow_phone_in_the_dark(self):
        self.look_at_all("narrow-dark", SIZES["narrow"], dark=True)

    def test_axe_finds_nothing_on_a_wide_desktop_in_light(self):
        self.look_at_all("wide-light", SIZES["wide"], dark=False)

    def test_axe_finds_nothing_in_german_on_a_narrow_phone_in_light(self):
        self.look_at_all("german-narrow", SIZES["narrow"], dark=False, language="de")

    def test_axe_finds_nothing_in_german_on_a_wide_desktop_in_the_dark(self):
        self.look_at_all("german-wide", SIZES["wide"], dark=True, language="de")

    def test_axe_finds_nothing_from_right_to_left_on_a_narrow_phone_in_light(self):
        self.look_at_all("rtl-narrow", SIZES["narrow"], dark=False, right_to_left=True)

    def test_axe_finds_nothing_from_right_to_left_on_a_wide_desktop_in_the_dark(self):
        self.look_at_all("rtl-wide", SIZES["wide"], dark=True, right_to_left=True)
