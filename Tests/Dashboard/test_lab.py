"""Three hosts of a network: a browser at the gateway of each of two, and the command line on the third."""

import json
import os
import random
import re
import struct
import subprocess
import time
import zlib
from datetime import datetime

from gateway import until
from guests import add_plain
from lab_stage import LabStage
from paper import INKED, draw, until_inked
from stage import PHONE, expect

# The values of the bars of files that are on their way.
WATCH = """() => {
  window.seen = new Set()
  setInterval(() => {
    for (const bar of document.querySelectorAll('.withfile progress')) if (!bar.hidden && bar.value) window.seen.add(bar.value)
  }, 5)
}"""
PART_WAY = "[...window.seen].filter((value) => value > 0 && value < 1).length"
# A cable on which a picture of a megabyte is under way for some seconds.
SLOW_BYTES_PER_SECOND = 250_000
SIDE = 600
SCAN_SECONDS_MAX = 30


def picture(side):
    """A PNG that no compression makes smaller."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    noise = random.Random(side)
    rows = b"".join(b"\0" + noise.randbytes(3 * side) for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")


class ThreeHosts(LabStage):
    def shows_picture(self, page, name):
        shown = self.card(page, name).locator("img")
        expect(shown).to_be_visible()
        self.assertEqual(SIDE, shown.evaluate("(e) => e.decode().then(() => e.naturalWidth)"))

    def test_p_app_1_p_app_4_two_browsers_and_a_command_line_talk_and_share_pictures_in_one_session(self):
        # No way leads out of their network: all that the pages need comes from their gateways.
        for host in self.lab.hosts:
            for family in ("-4", "-6"):
                self.assertEqual("", subprocess.check_output(host + ["ip", family, "route", "show", "default"], text=True))
        ada = self.person(0, "Ada")
        ben = self.person(1, "Ben", size=PHONE, dark=True)
        cleo = self.program("advertise", "adhoc", "--accept", "--to-folder", os.path.join(self.folder.name, "received"))
        self.invite(ada, "Ben", "All three?")
        self.answer(ben, "Accept")
        expect(self.neighbour(ada, "Ben")).to_contain_text("In this session")
        self.invite(ada, "Cleo")
        expect(self.neighbour(ada, "Cleo")).to_contain_text("In this session")
        # The peer that Ada has brought in is in Ben's session as well.
        self.turn(ben, "Nearby")
        expect(self.neighbour(ben, "Cleo")).to_contain_text("In this session")
        self.say(ada, "Hello from a desktop")
        self.say(ben, "Hello from a phone")
        for text in ("Hello from a desktop", "Hello from a phone"):
            cleo.hear("message", text=text)
        cleo.say("say hello from a terminal")
        for page in (ada, ben):
            self.turn(page, "Session")
            expect(self.message(page, "hello from a terminal")).to_be_visible()
        expect(self.message(ben, "Hello from a desktop")).to_be_visible()
        expect(self.message(ada, "Hello from a phone")).to_be_visible()
        self.picture(ada, "three-hosts")
        self.picture(ben, "three-hosts-phone-dark")

        # A picture of Cleo's to both, and one of Ada's to both, on a slow cable; words do not wait for it.
        self.enterContext(self.fault(f"rate h3 {SLOW_BYTES_PER_SECOND}"))
        content = picture(SIDE)
        cleo.say(f"send {self.file('dot.png', content)}")
        for page in (ada, ben):
            page.evaluate(WATCH)
            self.card(page, "dot.png").get_by_role("button", name="Accept").click()
        ada.wait_for_function(f"() => {PART_WAY} > 0")
        self.say(ada, "What a picture")
        cleo.hear("message", text="What a picture")
        self.assertEqual([], cleo.all("resourceEnded"))
        for page in (ada, ben):
            self.shows_picture(page, "dot.png")
            self.assertGreater(page.evaluate(PART_WAY), 2, "the bar moved")
        ada.evaluate("window.seen.clear()")
        ada.locator(".composer input[type=file]").set_input_files(self.file("back.png", content))
        self.card(ben, "back.png").get_by_role("button", name="Accept").click()
        came = cleo.hear("resourceEnded", resource="back.png", reason="none")
        with open(came["path"], "rb") as file:
            self.assertTrue(content == file.read(), "arrived as it was")
        steps = [one["bytes"] for one in cleo.all("progress") if one["number"] == came["number"]]
        self.assertGreater(len([step for step in steps if 0 < step < len(content)]), 2)
        expect(self.card(ada, "back.png")).to_contain_text("received by 2 of 2")
        self.assertGreater(ada.evaluate(PART_WAY), 2, "the bar moved")
        for page in (ada, ben):
            self.shows_picture(page, "back.png")
        self.picture(ada, "three-hosts-pictures")
        self.picture(ben, "three-hosts-pictures-phone-dark")

    def test_p_adv_6_p_bro_6_invitations_of_the_sheet_and_of_the_command_line_are_answered(self):
        ada = self.person(0, "Ada")
        ben = self.person(1, "Ben", size=PHONE, dark=True)
        cleo = self.program("advertise", "adhoc")
        for name in ("Ben", "Cleo"):
            expect(self.neighbour(ada, name)).to_be_visible()
        ada.get_by_role("button", name="Invite several people").click()
        sheet = ada.get_by_role("dialog", name="Invite several people")
        rows, done = sheet.get_by_role("listitem"), sheet.get_by_role("button", name="Done")
        expect(rows).to_have_count(2)
        expect(sheet.locator(".pulse")).to_be_visible()
        expect(done).to_be_disabled()
        sheet.get_by_label("Filter").fill("cle")
        expect(rows).to_have_count(1)
        sheet.get_by_label("Filter").fill("")

        def ask(name):
            rows.filter(has_text=name).get_by_role("button", name="Invite").click()
            expect(rows.filter(has_text=name)).to_contain_text("Invitation sent")

        ask("Cleo")
        cleo.hear("invitation", name="Ada")
        cleo.say("decline")
        expect(rows.filter(has_text="Cleo")).to_contain_text("Declined")
        expect(done).to_be_disabled()
        ask("Ben")
        self.answer(ben, "Accept")
        expect(rows.filter(has_text="Ben")).to_contain_text("Connected")
        sheet.get_by_label("At most").fill("2")
        expect(rows.filter(has_text="Cleo").get_by_role("button", name="Invite")).to_be_disabled()
        sheet.get_by_label("At most").fill("8")
        ask("Cleo")
        cleo.hear("invitation", name="Ada")
        cleo.say("accept")
        expect(sheet.get_by_role("status")).to_have_text("3 of 2 to 8 people so far")
        self.picture(ada, "three-hosts-gather")
        done.click()
        expect(ada.locator(".roomhead")).to_contain_text("2 people connected")

        # The command line is told no, and a page that declined is in no session with it.
        dora = self.program("invite", "adhoc", "Ben", "--context", "Tea at five?", "--no-advertise", name="Dora")
        expect(ben.locator(".ring")).to_contain_text("Dora invites you to chat")
        expect(ben.locator(".ring .quote")).to_have_text("Tea at five?")
        self.answer(ben, "Decline")
        dora.hear("invitationEnded", reason="declined")
        expect(ben.locator(".ring")).to_have_count(0)
        expect(ben.locator(".roomhead")).to_contain_text("2 people connected")

        # Cancel takes back what waits, and the search ends with the sheet that began it.
        emil = self.program("advertise", "adhoc", name="Emil")
        self.turn(ada, "Nearby")
        expect(self.neighbour(ada, "Emil")).to_be_visible()
        ada.get_by_role("button", name="Stop searching").click()
        ada.get_by_role("button", name="Invite several people").click()
        ask("Emil")
        emil.hear("invitation", name="Ada")
        sheet.get_by_role("button", name="Cancel", exact=True).click()
        emil.hear("invitationEnded", reason="cancelled")
        expect(ada.get_by_role("button", name="Search again")).to_be_visible()
        self.turn(ada, "Sessions")
        expect(ada.locator(".roomhead")).to_contain_text("2 people connected")

    def test_p_app_2_phone_of_a_guest_and_the_command_line_put_photos_on_a_wall(self):
        host = self.person(0, "Olga")
        self.turn(host, "Photos")
        host.get_by_role("button", name="Open a photo wall").click()
        link = host.get_by_role("link", name="Open link").get_attribute("href")
        large = host.locator(".large img")
        cleo = self.program("adhoc", re.search(r"&wall=(wall-[a-z0-9]+)\.", link)[1])
        cleo.hear("connected", name="Photo wall")
        cleo.say(f"send {self.file('lake.png', picture(SIDE))}")
        cleo.hear("resourceEnded", resource="lake.png", reason="none")
        expect(large).to_have_attribute("alt", "Photo by Cleo")
        self.assertEqual(SIDE, large.evaluate("(e) => e.decode().then(() => e.naturalWidth)"))

        # The phone is another computer, and opens what the code says.
        start = time.monotonic()
        phone = self.guest(link)
        self.join_as_guest(phone, "Gina")
        add_plain(phone, "meadow", "olive", (3000, 2000))
        expect(large).to_have_attribute("alt", "Photo by Gina")
        self.assertLess(time.monotonic() - start, SCAN_SECONDS_MAX)
        expect(host.locator(".wallbar")).to_contain_text("2 photos · 2 guests")
        self.picture(host, "three-hosts-wall")
        self.picture(phone, "three-hosts-guest-phone")

    def open_example(self, name, *people):
        """The same page in front of both, and the command line with them."""
        for page in people:
            page.goto(f"{self.gateways[0].url}/examples/{name}.html")
        cleo = self.program("adhoc", name)
        for page, other in zip(people, ("Ben", "Ada")):
            expect(page.get_by_role("status").first).to_contain_text(other)
            expect(page.get_by_role("status").first).to_contain_text("Cleo")
        return cleo

    def test_p_app_3_metronomes_of_two_pages_and_of_the_command_line_beat_together(self):
        ada, ben = self.person(0, "Ada"), self.person(1, "Ben")
        cleo = self.open_example("metronome", ada, ben)
        cleo.say("metronome 300")
        ada.get_by_label("Beats per minute").fill("300")
        ada.get_by_label("Beats per minute").press("Tab")
        expect(ben.get_by_label("Beats per minute")).to_have_value("300")
        cleo.hear("beat")
        # A clock that is behind follows within some seconds; then all agree, as well as they say.
        until(lambda: all(bound <= 5 for _, bound in self.clocks(cleo, ada, ben)) and self.agree(cleo, ada, ben), "the clocks differ")
        # The pages are of two gateways.
        until(lambda: abs(self.clocks(cleo, ada, ben)[1][0] - self.clocks(cleo, ada, ben)[2][0]) <= 5, "two pages differ by over 5 ms")
        self.picture(ada, "three-hosts-metronome")

    @staticmethod
    def clocks(program, *pages):
        """How far the shared clock is ahead of that of the machine, which all hosts have in common, and the error bound, in
        milliseconds.
        """
        said = []
        for _ in range(5):
            program.say("clock")
            one = program.hear("clock")
            said.append((one["seconds"] * 1000 - milliseconds(one["at"]), one["boundMilliseconds"]))
        # A line is written a little after the clock was read, and so the greatest lead is the right one.
        return [max(said), *(page.locator("#bound").evaluate("(e) => [Number(e.dataset.lead), Number(e.textContent)]") for page in pages)]

    def agree(self, *all_of_them):
        clocks = self.clocks(*all_of_them)
        # A millisecond is for what is rounded.
        return all(abs(lead - other) <= bound + its_bound + 1
                   for place, (lead, bound) in enumerate(clocks) for other, its_bound in clocks[:place])

    def test_p_app_5_who_chooses_everyone_meets_the_command_line_and_the_console_tells_of_a_cable_that_is_cut(self):
        ada = self.person(0, "Ada")
        self.let_everybody_join(ada)
        cleo = self.program("adhoc")
        cleo.hear("connected", name="Ada")
        self.turn(ada, "Console")
        lines = ada.locator(".lines li")

        def told(event):
            return lines.filter(has=ada.locator("strong", has_text=re.compile(f"^{event}$"))).filter(has_text="Cleo")

        expect(told("connected")).to_have_count(1)
        with self.fault("cut h3"):
            expect(told("suspended")).to_have_count(1)
            expect(told("notConnected")).to_have_count(1)
        expect(told("connected")).to_have_count(2)
        self.picture(ada, "three-hosts-console")
        self.say(ada, "There you are")
        cleo.hear("message", text="There you are")
        cleo.say("say Back again")
        expect(self.message(ada, "Back again")).to_have_count(1)
        expect(ada.locator(".roomhead")).to_contain_text("1 person connected")

    def test_p_app_6_examples_of_two_pages_and_of_the_command_line_take_part_in_each_other(self):
        ada, ben = self.person(0, "Ada"), self.person(1, "Ben", size=PHONE, dark=True)
        cleo = self.open_example("todo", ada, ben)
        for text, page in (("Buy milk", ada), ("Water the plants", ben)):
            page.get_by_label("New task").fill(text)
            page.keyboard.press("Enter")
        cleo.hear("message", text=re.compile("Water the plants"))
        thing = {"id": "1-2-3-4", "text": "Feed the cat", "isDone": False, "isGone": False, "version": 1}
        cleo.say("say " + json.dumps({"items": [thing]}))
        for page in (ada, ben):
            expect(page.locator("#items label")).to_have_count(3)
            expect(page.get_by_label("Feed the cat", exact=True)).not_to_be_checked()
        cleo.close()

        cleo = self.open_example("remote", ada, ben)
        ben.get_by_role("button", name="Remote").click()
        ben.get_by_role("button", name="Next").click()
        expect(ada.locator("#slide")).to_have_text("2")
        cleo.say('say {"turn": 1}')
        for page, place in ((ada, "#slide"), (ben, "#shown")):
            expect(page.locator(place)).to_have_text("3")
        cleo.close()

        cleo = self.open_example("sensors", ada, ben)
        ada.get_by_role("button", name="Send this device’s motion").click()
        for step in range(15):
            ada.mouse.move(200 + step * 40, 300 + step % 5 * 60)
            ada.wait_for_timeout(50)
        plot = ben.locator(".plot").filter(has_text="Ada")
        ben.wait_for_function("() => [...document.querySelectorAll('.plot')].some((e) => e.textContent === 'Ada' && e.dataset.samples > 5)")
        self.assertGreater(plot.locator("canvas").evaluate(INKED), 300)
        self.assertIn("x", json.loads(cleo.hear("message", mode="unreliable")["text"]))
        cleo.close()

        cleo = self.open_example("board", ada, ben)
        draw(ada, (0.1, 0.8), (0.3, 0.2), (0.5, 0.8))
        self.assertIn('"ink":0', cleo.hear("streamBytes", stream="drawing", text=re.compile("points"))["text"])
        own = ada.locator("#paper").evaluate(INKED)
        until_inked(ben, lambda count: count == own)
        cleo.say("stream drawing")
        cleo.say(json.dumps({"ink": 3, "points": [800, 700, 1500, 700]}))
        cleo.say("end")
        for page in (ada, ben):
            until_inked(page, lambda count: count > own)
        self.assertEqual(*[page.locator("#paper").evaluate(INKED) for page in (ada, ben)])
        self.picture(ben, "three-hosts-board-phone-dark")
        cleo.close()

        cleo = self.open_example("translate", ada, ben)
        ben.get_by_label("Language").select_option("de")
        ada.get_by_role("button", name="Thank you very much!").click()
        self.assertEqual({"phrase": "thanks", "count": 3, "language": "en"}, json.loads(cleo.hear("message")["text"]))
        cleo.say("say " + json.dumps({"phrase": "people", "count": 5, "language": "de"}))
        expect(ada.locator("#said p")).to_have_text(["CleoDeutschThere are 5 of us.", "YouEnglishThank you very much!"])
        expect(ben.locator("#said p")).to_have_text(["CleoDeutschWir sind zu 5.", "AdaEnglishVielen Dank!"])
        cleo.close()

        self.open_example("audio", ada, ben)
        ada.get_by_role("button", name="Talk").click()
        ben.wait_for_function("() => [...document.querySelectorAll('.voices meter')].some((e) => e.value > 0.001)", polling=20)
        ada.get_by_role("button", name="Stop").click()


def milliseconds(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000
