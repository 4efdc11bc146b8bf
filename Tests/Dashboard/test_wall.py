"""The photo wall: an operator opens it, a guest's phone scans its code and adds photos, with no account and no app."""

import time

from guests import OperatorStage, add_plain
from stage import expect

SCAN_SECONDS_MAX = 30
# The animations of the wall from now on.
STARTED = """() => {
  const started = []
  document.querySelector('.board').addEventListener('animationstart', ({ target, animationName }) => started.push(`${target.localName} ${animationName}`))
  return started
}"""
RESTS = """() => document.querySelector('.board').getAnimations({ subtree: true })
  .every(({ playState }) => playState !== 'running')"""
LARGE = "(e) => e.decode().then(() => [e.naturalWidth, e.naturalHeight])"


class Wall(OperatorStage):
    def setUp(self):
        super().setUp()
        self.host = self.operator(view="Photos")

    def guest(self, name):
        page = self.open_guest(self.gateway, self.host)
        self.join_as_guest(page, name)
        return page

    def test_p_app_2_photos_of_guests_appear_on_the_wall_and_the_newest_is_large(self):
        host = self.host
        self.picture(host, "wall-closed")
        host.get_by_role("button", name="Open a photo wall").click()
        expect(host.get_by_role("img", name="QR code")).to_be_visible()
        expect(host.locator(".large")).to_contain_text("No photos yet")
        self.picture(host, "wall-empty")
        scanned = time.monotonic()
        gina = self.open_guest(self.gateway, host)
        self.picture(gina, "guest-joins-phone")
        self.join_as_guest(gina, "Gina")
        guests = [gina, self.guest("Gustav")]
        large = host.locator(".large img")
        for guest, name, colour in ((guests[0], "lake", "teal"), (guests[1], "meadow", "olive"), (guests[0], "sunset", "tomato")):
            add_plain(guest, name, colour, (3000, 2000))
            expect(guest.locator(".rows li").first).to_contain_text("On the wall")
            expect(large).to_have_attribute("alt", "Photo by Gina" if guest is guests[0] else "Photo by Gustav")
            if name == "lake":
                self.assertLess(time.monotonic() - scanned, SCAN_SECONDS_MAX)
        # It was made smaller on the phone, which leaves out all but the picture.
        self.assertEqual([2560, 1707], large.evaluate(LARGE))
        expect(host.locator(".thumbs li")).to_have_count(3)
        expect(host.locator(".wallbar")).to_contain_text("3 photos · 2 guests")
        self.picture(host, "wall")
        self.picture(guests[0], "guest-phone")
        self.look_at_full_screen(host)
        host.locator(".thumbs button").nth(1).click()
        expect(large).to_have_attribute("alt", "Photo by Gustav")
        # A guest comes back as who it was; the host's page, too.
        guests[0].reload()
        expect(guests[0].get_by_role("status")).to_contain_text("Connected")
        host.reload()
        expect(host.locator(".thumbs li")).to_have_count(3)
        expect(host.get_by_role("img", name="QR code")).to_be_visible()

        # A guest is one for this alone, and only as long as the wall is open.
        may = guests[0].evaluate("Promise.all(['/v1/events', '/v1/clients', '/v1/sessions'].map((p) => fetch(p).then((a) => a.status)))")
        self.assertEqual([403, 403, 200], may)
        host.get_by_role("button", name="Close wall").click()
        host.get_by_role("dialog").get_by_role("button", name="Close wall").click()
        expect(host.get_by_role("button", name="Open a photo wall")).to_be_visible()
        expect(guests[1].get_by_role("status")).to_contain_text("Connecting")
        self.turn(host, "Gateway")
        expect(host.get_by_text("No unused codes")).to_be_visible()

    def test_p_app_2_photos_that_could_not_be_loaded_are_loaded_when_the_gateway_is_back(self):
        host = self.host
        host.get_by_role("button", name="Open a photo wall").click()
        gina = self.guest("Gina")
        contents = "**/resources/*/content"
        host.route(contents, lambda route: route.abort())
        add_plain(gina, "lake", "teal", (600, 400))
        expect(host.locator(".large figure")).to_be_visible()
        expect(host.locator(".thumbs img")).to_have_count(1)
        self.assertEqual([0, 0], host.locator("img[alt='Photo by Gina']").evaluate_all("(all) => all.map((e) => e.naturalWidth)"))
        host.unroute(contents)
        self.gateway.stop()
        expect(host.locator(".state")).to_have_text("Reconnecting…")
        self.gateway.start()
        host.wait_for_function("() => [...document.querySelectorAll('img[alt=\"Photo by Gina\"]')].every((e) => e.naturalWidth > 0)")

    def look_at_full_screen(self, host):
        """A projector shows the newest photo and the code, and nothing of the page around them."""
        full = host.get_by_role("button", name="Full screen")
        full.click()
        host.wait_for_function("() => document.fullscreenElement?.matches('.wall')")
        width = host.viewport_size["width"]
        self.assertEqual(width, host.locator(".wall").evaluate("(e) => e.getBoundingClientRect().width"))
        self.assertGreater(host.locator(".large img").bounding_box()["width"], width / 2)
        for shown in (host.get_by_role("img", name="QR code"), host.get_by_text("Scan to add photos"), full):
            box = shown.bounding_box()
            self.assertTrue(0 <= box["x"] and box["y"] + box["height"] <= host.viewport_size["height"], box)
        covered = "() => !document.elementFromPoint(20, 20).closest('.head')"
        self.assertTrue(host.evaluate(covered))
        self.picture(host, "wall-full")
        full.click()
        host.wait_for_function("() => !document.fullscreenElement")

    def test_new_photo_pops_up_large_and_in_the_roll_unless_motion_is_reduced(self):
        host = self.host
        host.get_by_role("button", name="Open a photo wall").click()
        guest = self.guest("Gina")
        for count, (motion, moved) in enumerate((("reduce", []), ("no-preference", ["figure pop", "li pop"])), 1):
            host.emulate_media(reduced_motion=motion)
            # The photo of before pops up with the change of the setting.
            host.wait_for_timeout(100)
            host.wait_for_function(RESTS)
            started = host.evaluate_handle(STARTED)
            add_plain(guest, motion, "teal", (600, 400))
            expect(host.locator(".thumbs li")).to_have_count(count)
            expect(host.locator(".large img")).to_be_visible()
            host.wait_for_function("([started, count]) => started.length >= count", arg=[started, len(moved)])
            host.wait_for_function(RESTS)
            self.assertEqual(moved, sorted(started.json_value()))

    def test_what_is_no_picture_is_not_on_the_wall(self):
        self.host.get_by_role("button", name="Open a photo wall").click()
        guest = self.guest("Gina")
        guest.locator("#photos").set_input_files([
            {"name": "evil.svg", "mimeType": "image/svg+xml", "buffer": b"<svg xmlns='http://www.w3.org/2000/svg'><script>top.ran = 1</script></svg>"},
            {"name": "lie.png", "mimeType": "image/png", "buffer": b"<script>top.ran = 1</script>"}])
        expect(guest.locator(".rows li").filter(has_text="On the wall")).to_have_count(2)
        add_plain(guest, "real", "teal", (300, 200))
        expect(self.host.locator(".large img")).to_have_attribute("alt", "Photo by Gina")
        self.assertIsNone(self.host.evaluate("window.ran ?? null"))
        expect(self.host.locator(".thumbs img[src*='svg']")).to_have_count(0)
