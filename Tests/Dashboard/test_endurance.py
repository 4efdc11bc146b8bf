"""Faults amid a chat, an upload and a wall, two tabs of one person, and a slow network: nothing is lost, doubled or reordered.

Gateways on two hosts and the command line on a third; Ada's browser is on a fourth one, whose cable is her way to her gateway.
"""

import hashlib
import os
import re
import signal

from gateway import until
from guests import add_photo, add_plain
from lab_stage import LabStage
from stage import PHONE, expect

PATIENCE_MILLISECONDS = 60_000
# The list draws what is seen: a window of this height has room for all messages of a test.
TALL = {"width": 1280, "height": 3000}
# A photo that no compression makes small.
NOISE = """(context, width, height) => {
  const image = context.createImageData(width, height)
  for (let at = 0; at < image.data.length; at += 1) image.data[at] = at % 4 === 3 ? 255 : Math.random() * 256
  context.putImageData(image, 0, 0)
}"""


class Endurance(LabStage):
    host_count = 4
    seats = (3, 1)

    def setUp(self):
        super().setUp()
        self.received = os.path.join(self.folder.name, self.id())
        self.said = {"Ada": [], "Ben": [], "Cleo": []}

    def meet_all(self):
        self.ada = self.person(0, "Ada")
        self.ben = self.person(1, "Ben", size=PHONE)
        self.cleo = self.program("advertise", "adhoc", "--accept", "--to-folder", self.received)
        self.invite(self.ada, "Ben")
        self.answer(self.ben, "Accept")
        expect(self.neighbour(self.ada, "Ben")).to_contain_text("In this session")
        self.invite(self.ada, "Cleo")
        for page in (self.ada, self.ben):
            self.turn(page, "Sessions")
            expect(page.locator(".roomhead")).to_contain_text("2 people connected")

    def talk(self, *names):
        """Each of these says something, and waits for nothing."""
        for name in names:
            text = f"{name} {len(self.said[name]) + 1}"
            self.said[name].append(text)
            if name == "Cleo":
                self.cleo.say(f"say {text}")
            else:
                self.say(self.ada if name == "Ada" else self.ben, text)

    def until_all_is_heard(self, *pages):
        """Both pages and the command line have each message once, and those of each sender in their order."""
        count = sum(map(len, self.said.values()))
        for page in pages or (self.ada, self.ben):
            page.set_viewport_size(TALL)
            expect(page.locator(".message .text")).to_have_count(count, timeout=PATIENCE_MILLISECONDS)
            expect(page.locator(".message[data-state]")).to_have_count(0, timeout=PATIENCE_MILLISECONDS)
            self.compare(page.locator(".message .text").all_inner_texts(), "Ada", "Ben", "Cleo")
        until(lambda: len(self.heard_by_cleo()) >= len(self.said["Ada"] + self.said["Ben"]), "Cleo has not heard all")
        self.compare(self.heard_by_cleo(), "Ada", "Ben")

    def compare(self, heard, *names):
        for name in names:
            self.assertEqual(self.said[name], [text for text in heard if text.startswith(name)])

    def heard_by_cleo(self):
        return [one["text"] for one in self.cleo.all("message") if one["mode"] == "reliable"]

    def restart(self, by=signal.SIGTERM, meanwhile=lambda: None):
        gateway = self.gateways[0]
        gateway.stop(by)
        meanwhile()
        gateway.start()

    def send(self, page, name, content):
        page.locator(".composer input[type=file]").set_input_files(self.file(name, content))

    def until_it_came(self, name, content):
        """Ben saves the file of Ada's, and Cleo has it in a folder."""
        card = self.card(self.ben, name)
        card.get_by_role("button", name="Accept").click(timeout=PATIENCE_MILLISECONDS)
        expect(card.get_by_role("link", name="Save")).to_be_visible(timeout=PATIENCE_MILLISECONDS)
        with self.ben.expect_download() as download:
            card.get_by_role("link", name="Save").click()
        paths = [download.value.path(), self.cleo.hear("resourceEnded", resource=name, reason="none")["path"]]
        for path in paths:
            with open(path, "rb") as file:
                self.assertEqual(hashlib.sha256(content).digest(), hashlib.file_digest(file, "sha256").digest())
        expect(self.card(self.ada, name)).to_contain_text("received by 2 of 2", timeout=PATIENCE_MILLISECONDS)
        for page in (self.ada, self.ben):
            expect(page.locator(".scroller .fileline")).to_have_count(1)
        self.assertEqual([name], os.listdir(self.received))

    def test_chat_goes_on_after_a_page_was_offline_a_network_was_away_and_a_gateway_was_killed(self):
        self.meet_all()
        self.talk("Ada", "Ben", "Cleo")
        with self.fault("cut h4"):
            self.talk("Ada", "Ben", "Cleo", "Ada")
        self.talk("Ada", "Ben", "Cleo")
        self.until_all_is_heard()
        # The gateway's own network: neither its pages nor other gateways reach it.
        with self.fault("cut h1"):
            self.talk("Cleo", "Ben", "Ada", "Cleo")
        self.talk("Ada", "Ben", "Cleo")
        self.until_all_is_heard()
        self.restart(signal.SIGKILL, self.talk_without_a_gateway)
        expect(self.ada.locator(".state")).to_have_text("Online", timeout=PATIENCE_MILLISECONDS)
        expect(self.ada.get_by_text("Trying again")).to_be_hidden()
        self.talk("Ada", "Ben", "Cleo")
        self.until_all_is_heard()
        expect(self.ada.locator(".you strong")).to_have_text("Ada")
        self.picture(self.ada, "four-hosts-after-faults")

    def talk_without_a_gateway(self):
        expect(self.ada.locator(".state")).to_have_text("Reconnecting…")
        expect(self.ada.get_by_text("Trying again")).to_be_visible()
        self.picture(self.ada, "reconnecting")
        self.talk("Cleo", "Ben", "Ada", "Ada", "Cleo")

    def test_upload_goes_on_where_it_was_after_the_gateway_was_started_anew(self):
        self.meet_all()
        content = os.urandom(20_000_000)
        offsets = []
        self.ada.on("request", lambda request: request.method == "PATCH" and request.url.endswith("/content")
                    and offsets.append(int(request.headers["upload-offset"])))
        with self.fault("rate h4 4000000"):
            self.send(self.ada, "film.bin", content)
            self.ada.wait_for_function("() => document.querySelector('.withfile progress')?.value > 0.1")
            self.restart(meanwhile=lambda: expect(self.ada.locator(".state")).to_have_text("Reconnecting…"))
            before = len(offsets)
            self.talk("Ada", "Ben", "Cleo")
        self.until_it_came("film.bin", content)
        self.until_all_is_heard()
        # Pieces that were answered before the restart are not sent again.
        self.assertGreater(min(offsets[before:]), 0)

    def test_on_a_slow_network_that_loses_packets_a_file_does_not_hold_up_what_is_said(self):
        self.meet_all()
        content = os.urandom(4_000_000)
        with self.fault("rate h4 60000"), self.fault("loss h2 10"):
            self.send(self.ada, "slow.bin", content)
            for _ in range(3):
                self.talk("Ada", "Ben", "Cleo")
            self.until_all_is_heard()
            self.assertEqual([], self.cleo.all("resourceEnded"), "the file is under way")
        self.until_it_came("slow.bin", content)

    def test_two_tabs_of_one_person_are_one_peer_and_show_the_same(self):
        self.meet_all()
        tab = self.ada.context.new_page()
        tab.faults, tab.words = [], {}
        tab.goto(self.ada.url)
        self.turn(tab, "Sessions")
        expect(tab.locator(".roomhead")).to_contain_text("2 people connected")
        own, self.ada = self.ada, tab
        self.talk("Ada", "Cleo", "Ben")
        self.until_all_is_heard()
        self.ada = own
        self.talk("Ada", "Ben")
        self.until_all_is_heard(own, tab, self.ben)
        expect(self.neighbour(self.ben, "Ada")).to_have_count(1)
        # The person is still here when one of them is closed.
        tab.close()
        self.talk("Cleo", "Ben", "Ada")
        self.until_all_is_heard()

    def test_p_app_2_wall_has_each_photo_once_after_the_gateway_was_killed_amid_one(self):
        host = self.person(0, "Olga")
        self.turn(host, "Photos")
        host.get_by_role("button", name="Open a photo wall").click()
        link = host.get_by_role("link", name="Open link")
        before = link.get_attribute("href")
        photos, large = host.locator(".thumbs img"), host.locator(".large img")
        gina = self.guest(before)
        self.join_as_guest(gina, "Gina")
        cleo = self.program("adhoc", re.search(r"&wall=(wall-[a-z0-9]+)\.", before)[1])
        cleo.hear("connected", name="Photo wall")
        add_plain(gina, "lake", "teal", (600, 400))
        expect(photos).to_have_count(1)
        with self.fault("rate h2 200000"):
            add_photo(gina, "noise", (1200, 800), NOISE)
            gina.wait_for_function("() => document.querySelector('.rows progress')?.value > 0.1")
            self.gateways[0].stop(signal.SIGKILL)
        expect(host.locator(".state")).to_have_text("Reconnecting…")
        with open(os.path.join(self.folder.name, "terminal.png"), "wb") as file:
            file.write(large.screenshot())
        cleo.say(f"send {file.name}")
        self.gateways[0].start()
        cleo.hear("resourceEnded", resource="terminal.png", reason="none")
        on_wall = gina.locator(".rows li").filter(has_text="On the wall")
        expect(on_wall).to_have_count(2, timeout=PATIENCE_MILLISECONDS)
        # Pairing codes end with the gateway, and the wall makes another one after each start.
        expect(link).not_to_have_attribute("href", before)
        before = link.get_attribute("href")
        # A photo that is added while the gateway is away waits for it.
        self.gateways[0].stop(signal.SIGKILL)
        add_plain(gina, "meadow", "olive", (600, 400))
        # For longer than a request is repeated.
        gina.wait_for_timeout(5000)
        expect(gina.locator(".rows li").first).to_contain_text("Waiting for the wall")
        self.gateways[0].start()
        expect(on_wall).to_have_count(3, timeout=PATIENCE_MILLISECONDS)
        expect(photos).to_have_count(4)
        by = sorted(photo.get_attribute("alt") for photo in photos.all())
        self.assertEqual(["Photo by Cleo", *["Photo by Gina"] * 3], by)
        for photo in [*photos.all(), large]:
            self.assertGreater(photo.evaluate("(e) => e.decode().then(() => e.naturalWidth)"), 0)
        expect(link).not_to_have_attribute("href", before)
        self.join_as_guest(self.guest(link.get_attribute("href")), "Gustav")
        self.picture(host, "four-hosts-wall")
