"""Gateways of each test's own, whose operator lets guests in, and photos that these add to a wall."""

from gateway import Gateway, free_port
from stage import CHROMIUM, DESKTOP, Stage, expect

GUEST = {"width": 390, "height": 844}
# A photo as a camera makes it: a JPEG of that size.
PHOTO = """async ([name, width, height]) => {
  const canvas = Object.assign(document.createElement('canvas'), { width, height })
  ;(%s)(canvas.getContext('2d'), width, height)
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/jpeg', 0.9))
  const data = new DataTransfer()
  data.items.add(new File([blob], `${name}.jpg`, { type: 'image/jpeg' }))
  const input = document.querySelector('#photos')
  input.files = data.files
  input.dispatchEvent(new Event('change'))
}"""

# A function that paints one colour, and a name on it.
PLAIN = """(context, width, height) => {
  context.fillStyle = '%s'
  context.fillRect(0, 0, width, height)
  context.fillStyle = 'white'
  context.font = `${height / 6}px sans-serif`
  context.fillText('%s', width / 10, height / 2)
}"""


def add_photo(page, name, size, paint):
    """A guest adds a photo, which a function paints: `(context, width, height) => …`."""
    page.evaluate(PHOTO % paint, [name, *size])


def add_plain(page, name, colour, size):
    add_photo(page, name, size, PLAIN % (colour, name))


class Guests(Stage):
    def open_guest(self, gateway, host, size=GUEST, dark=False, **how):
        """The page that a phone opens once it has scanned the code of the wall."""
        link = host.get_by_role("link", name=self.word(host, "Open link")).get_attribute("href")
        return self.open_link(gateway, link, size, dark, **how)

    def open_link(self, gateway, link, size=GUEST, dark=False, **how):
        page = self.page(gateway, size, dark, **how)
        page.goto("about:blank")
        page.goto(link)
        expect(page.get_by_label(self.word(page, "Pairing code"))).to_have_count(0)
        return page

    def join_as_guest(self, page, name):
        page.get_by_label(self.word(page, "Your name")).fill(name)
        page.get_by_role("button", name=self.word(page, "Join")).click()
        expect(page.get_by_role("status")).to_contain_text(self.word(page, "Connected. Your photos appear on the wall."))


class OperatorStage(Guests):
    """Only the code of a start makes an operator, who sees most."""

    gateway_count = 1
    gateway_names = ["Garden"]
    gateways = []

    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.browser = cls.launch(CHROMIUM)

    def setUp(self):
        super().setUp()
        ports = [free_port() for _ in range(self.gateway_count)]
        self.gateways = [Gateway(name, port, [other for other in ports if other != port])
                         for name, port in zip(self.gateway_names, ports)]
        for gateway in self.gateways:
            self.addCleanup(gateway.close)
        self.gateway = self.gateways[0]

    def sign_out(self):
        """The gateways go with the test."""

    def operator(self, size=None, dark=False, view="Gateway"):
        page = self.page(self.gateway, size or DESKTOP, dark)
        self.come_in(page, self.gateway.code, "Olga")
        self.turn(page, view)
        return page
