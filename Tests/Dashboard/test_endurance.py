"""Restarts of the gateway amid an upload and a wall, two tabs of one person, and a slow network."""

import os
import tempfile

from guests import OperatorStage, add_plain
from stage import Stage, expect

SLOW_BYTES_PER_SECOND = 30_000
PATIENCE_MILLISECONDS = 60_000


class Endurance(Stage):
    def setUp(self):
        super().setUp()
        self.ada = self.enter(self.gateways[0], "Ada")
        self.ben = self.enter(self.gateways[1], "Ben")
        self.meet(self.ada, "Ada", self.ben, "Ben")

    def test_upload_goes_on_by_itself_where_it_was_after_the_gateway_was_started_anew(self):
        content = os.urandom(80_000_000)
        offsets = []
        self.ada.on("request", lambda request: request.method == "PATCH" and request.url.endswith("/content")
                    and offsets.append(int(request.headers["upload-offset"])))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "film.bin")
            with open(path, "wb") as file:
                file.write(content)
            self.slow_down(self.ada, 6_000_000)
            self.ada.locator(".composer input[type=file]").set_input_files(path)
            self.ada.wait_for_function("() => document.querySelector('.withfile progress')?.value > 0.1")
            self.gateways[0].stop()
            expect(self.ada.locator(".state")).to_have_text("Reconnecting…")
            before = len(offsets)
            self.gateways[0].start()
            card = self.ben.locator(".scroller .fileline").filter(has_text="film.bin")
            card.get_by_role("button", name="Accept").click(timeout=PATIENCE_MILLISECONDS)
            expect(card.get_by_role("link", name="Save")).to_be_visible(timeout=PATIENCE_MILLISECONDS)
            with self.ben.expect_download() as download:
                card.get_by_role("link", name="Save").click()
            with open(download.value.path(), "rb") as file:
                self.assertTrue(content == file.read(), "arrived as it was")
        # Pieces that were answered before the restart are not sent again.
        self.assertGreater(min(offsets[before:]), 0)
        expect(self.ada.locator(".scroller .fileline")).to_have_count(1)

    def test_two_tabs_of_one_person_are_one_peer_and_show_the_same(self):
        tab = self.ada.context.new_page()
        tab.faults, tab.words = [], {}
        tab.goto(self.ada.url)
        self.turn(tab, "Sessions")
        expect(tab.locator(".roomhead")).to_contain_text("1 person connected")
        for number, page in enumerate((self.ada, tab, self.ada)):
            self.say(page, f"from a tab, {number}")
        for page in (self.ada, tab, self.ben):
            expect(page.locator(".message .text")).to_have_text([f"from a tab, {number}" for number in range(3)])
        expect(self.neighbour(self.ben, "Ada")).to_have_count(1)
        names = [peer["displayName"] for peer in self.gateways[0].ask("GET", "/v1/peers")["items"]]
        self.assertLessEqual(names.count("Ada"), 1)
        # The person is still here when one of them is closed.
        tab.close()
        self.say(self.ben, "Still there?")
        expect(self.message(self.ada, "Still there?")).to_have_count(1)

    def test_on_a_slow_network_what_is_said_waits_its_turn_and_a_file_does_not_hold_it_up(self):
        self.ada.context.new_cdp_session(self.ada).send("Network.emulateNetworkConditions", {
            "offline": False, "latency": 400, "uploadThroughput": SLOW_BYTES_PER_SECOND, "downloadThroughput": SLOW_BYTES_PER_SECOND})
        self.ada.locator(".composer input[type=file]").set_input_files(
            [{"name": "slow.bin", "mimeType": "application/octet-stream", "buffer": os.urandom(400_000)}])
        texts = [f"slowly, {number}" for number in range(5)]
        for text in texts:
            self.say(self.ada, text)
        expect(self.ben.locator(".message .text")).to_have_text(texts, timeout=PATIENCE_MILLISECONDS)
        expect(self.ada.locator(".message[data-state=sending]")).to_have_count(0, timeout=PATIENCE_MILLISECONDS)
        card = self.ben.locator(".scroller .fileline").filter(has_text="slow.bin")
        card.get_by_role("button", name="Accept").click(timeout=PATIENCE_MILLISECONDS)
        expect(card.get_by_role("link", name="Save")).to_be_visible(timeout=PATIENCE_MILLISECONDS)


class WallEndurance(OperatorStage):
    def test_p_app_2_wall_goes_on_after_the_gateway_was_started_anew(self):
        host = self.operator(view="Photos")
        host.get_by_role("button", name="Open a photo wall").click()
        expect(host.get_by_role("img", name="QR code")).to_be_visible()
        link = host.get_by_role("link", name="Open link").get_attribute("href")
        gina = self.open_guest(self.gateway, host)
        self.join_as_guest(gina, "Gina")
        add_plain(gina, "lake", "teal", (600, 400))
        expect(host.locator(".thumbs li")).to_have_count(1)
        self.gateway.stop()
        expect(host.locator(".state")).to_have_text("Reconnecting…")
        self.gateway.start()
        expect(host.locator(".state")).to_have_text("Online", timeout=PATIENCE_MILLISECONDS)
        expect(gina.get_by_role("status")).to_contain_text("Connected. Your photos", timeout=PATIENCE_MILLISECONDS)
        expect(host.locator(".thumbs li")).to_have_count(1)
        add_plain(gina, "meadow", "olive", (600, 400))
        expect(gina.locator(".rows li").first).to_contain_text("On the wall", timeout=PATIENCE_MILLISECONDS)
        expect(host.locator(".thumbs li")).to_have_count(2)
        # Pairing codes end with the gateway, and the wall has made another one.
        expect(host.get_by_role("link", name="Open link")).not_to_have_attribute("href", link)
        gustav = self.open_guest(self.gateway, host)
        self.join_as_guest(gustav, "Gustav")
