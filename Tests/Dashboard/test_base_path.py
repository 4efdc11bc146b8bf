"""A gateway below a path: the page, its requests, its WebSocket and its links stay below it."""

import re

from gateway import Gateway, free_port
from stage import CHROMIUM, Stage, expect


class BasePath(Stage):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.browser = cls.launch(CHROMIUM)
        ports = [free_port(), free_port()]
        cls.gateways = [
            Gateway(name, port, [other for other in ports if other != port], base=base)
            for name, port, base in zip(["Stage", "Foyer"], ports, ["/house/stage", "/foyer"])]

    def test_people_meet_talk_and_save_files_below_a_path_and_are_still_in_after_a_reload(self):
        asked = []
        ada = self.page(self.gateways[0])
        ada.on("request", lambda request: asked.append(request.url))
        ada.on("websocket", lambda socket: asked.append(socket.url))
        self.come_in(ada, self.gateways[0].new_code(), "Ada")
        ben = self.enter(self.gateways[1], "Ben")
        self.meet(ada, "Ada", ben, "Ben")
        self.say(ada, "Below a path")
        expect(ben.locator(".message").last).to_contain_text("Below a path")
        ben.locator(".composer input[type=file]").set_input_files([{"name": "a.txt", "mimeType": "text/plain", "buffer": b"hello"}])
        card = ada.locator(".withfile").filter(has_text="a.txt")
        card.get_by_role("button", name="Accept").click()
        with ada.expect_download() as download:
            card.get_by_role("link", name="Save").click()
        with open(download.value.path(), "rb") as file:
            self.assertEqual(b"hello", file.read())
        ada.reload()
        expect(ada.locator(".state")).to_have_text("Online")
        expect(ada.locator(".you strong")).to_have_text("Ada")
        self.assertTrue(any("/v1/socket" in url for url in asked))
        for url in asked:
            self.assertRegex(url, r"^(blob:|data:|\w+://127\.0\.0\.1:\d+/house/stage/)")

    def test_page_that_is_opened_beside_the_path_goes_there_with_its_code(self):
        gateway = self.gateways[1]
        page = self.page(gateway)
        for place in ("/", "/foyer"):
            page.goto("about:blank")
            page.goto(f"{gateway.url.removesuffix(gateway.base)}{place}#code={gateway.new_code()}")
            expect(page).to_have_url(re.compile(r"/foyer/$"))
            expect(page.get_by_label("Pairing code")).to_have_value(re.compile(r"\w{4}-\w{4}"))
        page.get_by_label("Your name").fill("Cleo")
        page.get_by_role("button", name="Join").click()
        expect(page.locator(".state")).to_have_text("Online")
