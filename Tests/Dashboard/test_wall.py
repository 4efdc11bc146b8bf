"""The photo wall: an operator opens it, a guest's phone scans its code and adds photos, with no account and no app."""

import os

from gateway import Gateway
from stage import CHROMIUM, DESKTOP, Stage, expect

GUEST = {"width": 390, "height": 844}
# A photo of one colour, as a camera makes them: a JPEG of 3000 × 2000 with a place in it would be smaller there.
PHOTO = """async ([name, colour, width, height]) => {
  const canvas = Object.assign(document.createElement('canvas'), { width, height })
  const context = canvas.getContext('2d')
  context.fillStyle = colour
  context.fillRect(0, 0, width, height)
  context.fillStyle = 'white'
  context.font = `${height / 6}px sans-serif`
  context.fillText(name, width / 10, height / 2)
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/jpeg', 0.9))
  const data = new DataTransfer()
  data.items.add(new File([blob], `${name}.jpg`, { type: 'image/jpeg' }))
  const input = document.querySelector('#photos')
  input.files = data.files
  input.dispatchEvent(new Event('change'))
}"""
LARGE = "(e) => e.decode().then(() => [e.naturalWidth, e.naturalHeight])"


class Wall(Stage):
    gateways = []

    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.browser = cls.launch(CHROMIUM)

    def setUp(self):
        super().setUp()
        # Only the code of a start makes an operator.
        self.gateway = Gateway("Garden")
        self.addCleanup(self.gateway.close)
        self.host = self.page(self.gateway, DESKTOP)
        self.come_in(self.host, self.gateway.code, "Olga")
        self.turn(self.host, "Photos")

    def sign_out(self):
        """The gateway goes with the test."""

    def guest(self, name):
        """What a phone opens once it has read the code."""
        link = self.host.get_by_role("link", name="Open link").get_attribute("href")
        page = self.page(self.gateway, GUEST)
        page.goto("about:blank")
        page.goto(f"{self.gateway.url}/{link[link.index('#'):]}")
        expect(page.get_by_label("Pairing code")).to_have_count(0)
        page.get_by_label("Your name").fill(name)
        self.picture(page, "guest-joins-phone")
        page.get_by_role("button", name="Join").click()
        expect(page.get_by_role("status")).to_contain_text("Connected")
        return page

    def test_p_app_2_photos_of_guests_appear_on_the_wall_and_the_newest_is_large(self):
        host = self.host
        self.picture(host, "wall-closed")
        host.get_by_role("button", name="Open a photo wall").click()
        expect(host.get_by_role("img", name="QR code")).to_be_visible()
        expect(host.locator(".large")).to_contain_text("No photos yet")
        self.picture(host, "wall-empty")
        guests = [self.guest(name) for name in ("Gina", "Gustav")]
        large = host.locator(".large img")
        for guest, name, colour in ((guests[0], "lake", "teal"), (guests[1], "meadow", "olive"), (guests[0], "sunset", "tomato")):
            guest.evaluate(PHOTO, [name, colour, 3000, 2000])
            expect(guest.locator(".rows li").first).to_contain_text("On the wall")
            expect(large).to_have_attribute("alt", "Photo by Gina" if guest is guests[0] else "Photo by Gustav")
        # It was made smaller on the phone, which leaves out all but the picture.
        self.assertEqual([2560, 1707], large.evaluate(LARGE))
        expect(host.locator(".thumbs li")).to_have_count(3)
        expect(host.locator(".wallbar")).to_contain_text("3 photos · 2 guests")
        self.picture(host, "wall")
        self.picture(guests[0], "guest-phone")
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

    def test_what_is_no_picture_is_not_on_the_wall(self):
        self.host.get_by_role("button", name="Open a photo wall").click()
        guest = self.guest("Gina")
        guest.locator("#photos").set_input_files([
            {"name": "evil.svg", "mimeType": "image/svg+xml", "buffer": b"<svg xmlns='http://www.w3.org/2000/svg'><script>top.ran = 1</script></svg>"},
            {"name": "lie.png", "mimeType": "image/png", "buffer": b"<script>top.ran = 1</script>"}])
        expect(guest.locator(".rows li").filter(has_text="On the wall")).to_have_count(2)
        guest.evaluate(PHOTO, ["real", "teal", 300, 200])
        expect(self.host.locator(".large img")).to_have_attribute("alt", "Photo by Gina")
        self.assertIsNone(self.host.evaluate("window.ran ?? null"))
        expect(self.host.locator(".thumbs img[src*='svg']")).to_have_count(0)
