"""Files: by the button and by dropping, with progress, declined, and never run."""

import hashlib
import os

from stage import PHONE, Stage, expect

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c63f8cfc0f01f00050001ff56c72f0d0000000049454e44ae426082")
DROP = """([name, type, bytes]) => {
  const data = new DataTransfer()
  data.items.add(new File([new Uint8Array(bytes)], name, { type }))
  const chat = document.querySelector('.chat')
  for (const kind of ['dragover', 'drop']) chat.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }))
}"""


class Files(Stage):
    def setUp(self):
        super().setUp()
        self.ada = self.enter(self.gateways[0], "Ada")
        self.ben = self.enter(self.gateways[1], "Ben", size=PHONE)
        self.meet(self.ada, "Ada", self.ben, "Ben")

    def saved(self, page, name):
        with page.expect_download() as download:
            self.card(page, name).get_by_role("link", name="Save").click()
        with open(download.value.path(), "rb") as file:
            return download.value.suggested_filename, file.read()

    def test_p_app_1_large_file_shows_progress_and_arrives_as_it_was(self):
        content = os.urandom(400_000_000)
        name = "plan of the second hall.bin"
        watch = "(sel) => { window.seen = new Set(); setInterval(() => { const p = document.querySelector(sel); if (p && !p.hidden && p.value) window.seen.add(p.value) }, 5) }"
        for page in (self.ada, self.ben):
            page.evaluate(watch, ".withfile progress")
        self.slow_down(self.ada, 100_000_000)
        self.ada.locator(".composer input[type=file]").set_input_files(self.file(name, content))
        card = self.card(self.ben, name)
        expect(card.get_by_role("button", name="Accept")).to_be_visible(timeout=60_000)
        expect(card).to_contain_text("400 MB")
        expect(self.card(self.ada, name)).to_contain_text("waiting for Ben")
        self.picture(self.ben, "offered-phone")
        card.get_by_role("button", name="Accept").click()
        expect(card.get_by_role("link", name="Save")).to_be_visible()
        expect(self.card(self.ada, name)).to_contain_text("received")
        for page in (self.ada, self.ben):
            steps = page.evaluate("[...window.seen]")
            self.assertGreater(len([step for step in steps if 0 < step < 1]), 2, "the bar moved")
            self.assertEqual(steps, sorted(steps), "and never back")
        suggested, bytes_ = self.saved(self.ben, name)
        self.assertEqual(name, suggested)
        self.assertEqual(hashlib.sha256(content).digest(), hashlib.sha256(bytes_).digest())

    def test_file_is_declined(self):
        self.ada.locator(".composer input[type=file]").set_input_files(self.file("no.txt", b"no"))
        self.card(self.ben, "no.txt").get_by_role("button", name="Decline").click()
        expect(self.card(self.ada, "no.txt")).to_contain_text("declined")
        expect(self.card(self.ben, "no.txt").get_by_role("link", name="Save")).to_be_hidden()

    def test_empty_file_arrives(self):
        self.ada.locator(".composer input[type=file]").set_input_files(self.file("empty.txt", b""))
        self.card(self.ben, "empty.txt").get_by_role("button", name="Accept").click()
        self.assertEqual(("empty.txt", b""), self.saved(self.ben, "empty.txt"))

    def test_p_app_1_dropped_picture_is_shown_inline_on_both_sides(self):
        self.ben.evaluate(DROP, ["dot.png", "image/png", list(PNG)])
        self.card(self.ada, "dot.png").get_by_role("button", name="Accept").click()
        for page in (self.ada, self.ben):
            picture = self.card(page, "dot.png").locator("img")
            expect(picture).to_be_visible()
            self.assertTrue(picture.evaluate("(e) => e.decode().then(() => e.naturalWidth === 1)"))

    def test_what_is_no_picture_is_never_shown_or_run(self):
        script = "<svg xmlns='http://www.w3.org/2000/svg'><script>window.opener.ran = 1; parent.ran = 1</script></svg>"
        name = "<img src=x onerror=window.ran=1>.html"
        for kind, file in (("text/html", name), ("image/svg+xml", "evil.svg"), ("image/png", "lie.png")):
            self.ada.evaluate(DROP, [file, kind, list(script.encode())])
            card = self.card(self.ben, file)
            card.get_by_role("button", name="Accept").click()
            expect(card.get_by_role("link", name="Save")).to_be_visible()
            self.assertEqual(script.encode(), self.saved(self.ben, file)[1])
            # Opened as a page it is saved, or shown as what it claims to be, without its scripts.
            href = card.get_by_role("link", name="Save").get_attribute("href")
            head = self.ben.evaluate(
                "(p) => fetch(p).then((a) => [a.headers.get('content-type'), a.headers.get('content-disposition'), "
                "a.headers.get('content-security-policy'), a.headers.get('x-content-type-options')])", href)
            if kind != "image/png":
                self.assertEqual("application/octet-stream", head[0])
                self.assertTrue(head[1].startswith("attachment"))
                expect(card.locator("img")).to_have_count(0)
            self.assertIn("sandbox", head[2])
            self.assertEqual("nosniff", head[3])
        for page in (self.ada, self.ben):
            self.assertIsNone(page.evaluate("window.ran ?? null"))

    def test_upload_that_is_cut_goes_on_where_it_was(self):
        content = os.urandom(6_000_000)
        cuts = []

        def cut(route):
            if len(cuts) < 3 and route.request.method == "PATCH" and int(route.request.headers["upload-offset"]) > 0:
                cuts.append(route.request.headers["upload-offset"])
                return route.abort()
            return route.continue_()

        self.ada.route("**/content", cut)
        self.ada.locator(".composer input[type=file]").set_input_files(self.file("cut.bin", content))
        self.card(self.ben, "cut.bin").get_by_role("button", name="Accept").click()
        expect(self.card(self.ben, "cut.bin").get_by_role("link", name="Save")).to_be_visible()
        self.assertEqual(3, len(cuts))
        self.assertEqual(content, self.saved(self.ben, "cut.bin")[1])

    def test_file_under_way_is_cancelled(self):
        self.ada.locator(".composer input[type=file]").set_input_files(self.file("long.bin", os.urandom(3_000_000)))
        expect(self.card(self.ben, "long.bin").get_by_role("button", name="Accept")).to_be_visible()
        self.card(self.ada, "long.bin").get_by_role("button", name="Cancel").click()
        expect(self.card(self.ada, "long.bin")).to_have_count(0)
        expect(self.card(self.ben, "long.bin").get_by_role("button", name="Accept")).to_be_hidden()

    def test_upload_is_paused_and_resumed_also_after_the_page_was_left_and_no_byte_is_sent_twice(self):
        content = os.urandom(6_000_000)
        path = self.file("slow.bin", content)
        sent = []
        self.ada.on("request", lambda request: request.method == "PATCH" and request.url.endswith("/content")
                    and sent.append(int(request.headers["upload-offset"])))
        # One piece goes through, and the next one stays on its way.
        held = []
        self.ada.route("**/content", lambda route: held.append(route) if len(sent) > 1 else route.continue_())
        self.ada.locator(".composer input[type=file]").set_input_files(path)
        card = self.card(self.ada, "slow.bin")
        self.ada.wait_for_function("() => document.querySelector('.withfile progress')?.value > 0")
        card.get_by_role("button", name="Pause").click()
        expect(card).to_contain_text("Paused")
        self.ada.unroute("**/content")
        self.picture(self.ada, "paused")

        # Elsewhere it is chosen again; another file is no part of it.
        self.ada.reload()
        expect(card).to_contain_text("Choose the file again")
        for name, other in (("other.bin", b"other"), ("slow.bin", os.urandom(len(content)))):
            card.locator("input[type=file]").set_input_files(self.file(name, other))
            alert = self.ada.get_by_role("alert").filter(has_text="different file")
            expect(alert).to_be_visible()
            alert.get_by_role("button", name="Close").click()
        self.file("slow.bin", content)
        before = len(sent)
        card.locator("input[type=file]").set_input_files(path)
        self.card(self.ben, "slow.bin").get_by_role("button", name="Accept").click()
        expect(self.card(self.ben, "slow.bin").get_by_role("link", name="Save")).to_be_visible()
        self.assertGreater(sent[before], 0)
        expect(self.card(self.ada, "slow.bin")).to_have_count(1)
        self.assertEqual(content, self.saved(self.ben, "slow.bin")[1])
        # Both are in the list of files.
        self.ben.get_by_role("button", name="1 file").click()
        expect(self.ben.locator(".files .withfile")).to_have_count(1)
        self.picture(self.ben, "files-phone")

    def test_file_that_is_sent_once_more_after_a_reload_goes_on_as_the_same(self):
        path = self.file("again.bin", os.urandom(6_000_000))
        held = []
        self.ada.route("**/content", lambda route: held.append(route) if held or int(
            route.request.headers.get("upload-offset", 0)) > 0 else route.continue_())
        choose = self.ada.locator(".composer input[type=file]")
        choose.set_input_files(path)
        self.ada.wait_for_function("() => document.querySelector('.withfile progress')?.value > 0")
        self.ada.unroute("**/content")
        self.ada.reload()
        expect(self.card(self.ada, "again.bin")).to_contain_text("Choose the file again")
        choose.set_input_files(path)
        self.card(self.ben, "again.bin").get_by_role("button", name="Accept").click()
        expect(self.card(self.ada, "again.bin")).to_contain_text("received")
        expect(self.ada.locator(".fileline")).to_have_count(1)

    def test_files_that_are_sent_at_once_are_one_card_and_are_accepted_together(self):
        names = ["plan.pdf", "list.txt", "dot.png"]
        contents = [os.urandom(200_000), b"milk", PNG]
        self.ada.locator(".composer input[type=file]").set_input_files(
            [self.file(name, content) for name, content in zip(names, contents)])
        card = self.ben.locator(".scroller .withfile")
        expect(card.locator(".fileline")).to_have_count(3)
        expect(card).to_have_count(1)
        self.picture(self.ben, "files-at-once-phone")
        card.get_by_role("button", name="Accept all").click()
        expect(card.get_by_role("link", name="Save")).to_have_count(3)
        expect(card.get_by_role("button", name="Accept all")).to_be_hidden()
        expect(card.locator("img")).to_be_visible()
        own = self.ada.locator(".scroller .withfile")
        expect(own).to_have_count(1)
        expect(own.locator(".hint", has_text="received")).to_have_count(3)
        expect(own.locator("strong")).to_have_text(names)
        self.picture(self.ada, "files-at-once")
        self.picture(self.ben, "files-at-once-saved-phone")


class FilesForSeveral(Stage):
    def test_file_for_several_people_is_one_card_that_says_who_has_it(self):
        ada = self.enter(self.gateways[0], "Ada")
        ben, cleo = self.enter(self.gateways[1], "Ben"), self.enter(self.gateways[1], "Cleo")
        self.meet(ada, "Ada", ben, "Ben")
        self.invite(ada, "Cleo")
        self.answer(cleo, "Accept")
        self.turn(ada, "Session")
        expect(ada.locator(".roomhead")).to_contain_text("2 people connected")
        uploads = []
        ada.on("request", lambda request: request.url.endswith("/content") and request.method == "PATCH" and uploads.append(request.url))
        ada.locator(".composer input[type=file]").set_input_files(
            [{"name": "plan.pdf", "mimeType": "application/pdf", "buffer": b"a plan"}])
        line = ada.locator(".fileline")
        expect(line).to_contain_text("received by 0 of 2")
        expect(line).to_have_count(1)
        expect(ada.locator(".withfile .who")).to_have_text("You to Ben and Cleo")
        for page, how in ((ben, "Accept"), (cleo, "Decline")):
            self.turn(page, "Session")
            page.locator(".fileline").get_by_role("button", name=how).click()
        expect(line).to_contain_text("received by 1 of 2")
        expect(line).to_contain_text("not received by Cleo")
        self.assertEqual(1, len(uploads), "it is uploaded once")
        self.picture(ada, "file-for-two")
