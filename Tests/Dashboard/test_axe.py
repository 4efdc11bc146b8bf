"""What axe has against each view: nothing, at any level, in light and dark, on the narrowest phone and a wide desk."""

import importlib.util
import os

from gateway import Gateway, free_port
from stage import CHROMIUM, Stage, expect

AXE = os.path.join(os.path.dirname(importlib.util.find_spec("axe_playwright_python").origin), "axe.min.js")
SIZES = {"narrow": {"width": 320, "height": 640}, "wide": {"width": 1600, "height": 900}}
RUN = """() => axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(
  ({ id, impact, nodes }) => `${impact}: ${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`))"""


class Axe(Stage):
    # Each test has its own.
    gateways = []

    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.browser = cls.launch(CHROMIUM)
        with open(AXE, encoding="utf-8") as file:
            cls.axe = file.read()

    def setUp(self):
        super().setUp()
        # Only the code of a start makes an operator, who sees most.
        ports = [free_port(), free_port()]
        self.gateways = [Gateway(name, port, [other for other in ports if other != port])
                         for name, port in zip(["Stage", "Foyer"], ports)]
        for gateway in self.gateways:
            self.addCleanup(gateway.close)

    def sign_out(self):
        """The gateways go with the test."""

    def check(self, page, what):
        with self.subTest(what):
            page.evaluate(self.axe)
            self.assertEqual([], page.evaluate(RUN))

    def look_at_all(self, size, dark):
        stage, foyer = self.gateways
        ben = self.enter(foyer, "Ben")
        ada = self.page(stage, size, dark)
        expect(ada.get_by_label("Pairing code")).to_be_visible()
        self.check(ada, "join")
        self.come_in(ada, stage.code, "Ada")
        expect(self.neighbour(ada, "Ben")).to_be_visible()
        self.check(ada, "nearby")
        self.neighbour(ada, "Ben").get_by_role("button", name="Invite").click()
        self.check(ada, "inviting")
        ada.keyboard.press("Escape")
        self.invite(ben, "Ada", "Come over")
        expect(ada.locator(".ring")).to_be_visible()
        self.check(ada, "invited")
        self.answer(ada, "Accept")
        expect(ada.locator(".roomhead")).to_contain_text("1 person connected")
        self.say(ada, "Look at https://example.org/")
        expect(self.message(ben, "Look at")).to_be_visible()
        ben.locator(".composer input[type=file]").set_input_files([{"name": "a.txt", "mimeType": "text/plain", "buffer": b"hello"}])
        expect(ada.locator(".withfile")).to_be_visible()
        self.check(ada, "session")
        ada.get_by_role("button", name="Members").click()
        self.check(ada, "members")
        ada.get_by_role("button", name="Verify").click()
        expect(ada.locator(".compared")).to_be_visible()
        self.check(ada, "comparing")
        ada.get_by_role("button", name="They differ").click()
        expect(ada.locator(".overlay")).to_contain_text("someone may be reading along")
        self.check(ada, "codes differ")
        ada.locator(".overlay").get_by_role("button", name="Close").click()
        ada.get_by_role("button", name="Leave", exact=True).click()
        self.check(ada, "leaving")
        ada.keyboard.press("Escape")
        self.turn(ada, "Console")
        expect(ada.locator(".lines li").first).to_be_visible()
        self.check(ada, "console")
        self.turn(ada, "Photos")
        self.check(ada, "no wall")
        ada.get_by_role("button", name="Open a photo wall").click()
        expect(ada.get_by_role("img", name="QR code")).to_be_visible()
        self.check(ada, "wall")
        self.turn(ada, "Gateway")
        ada.get_by_role("button", name="Make a code").click()
        expect(ada.get_by_role("img", name="QR code")).to_be_visible()
        self.check(ada, "gateway")

    def test_axe_finds_nothing_on_a_narrow_phone_in_the_dark(self):
        self.look_at_all(SIZES["narrow"], dark=True)

    def test_axe_finds_nothing_on_a_wide_desktop_in_light(self):
        self.look_at_all(SIZES["wide"], dark=False)
