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

# A request as a program of the page's own client makes it.
MAKE_CODE = """async (wanted) => {
  const { Vicinity } = await import('/vicinity.js')
  const gateway = new Vicinity(location.origin, { csrf: JSON.parse(localStorage.vicinity).csrf })
  return (await gateway.post('/v1/pairing-codes', wanted)).code
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

    @staticmethod
    def code_of(page, **wanted):
        """A code that the operator in front of this page makes."""
        return page.evaluate(MAKE_CODE, wanted)

    @staticmethod
    def have_past(page):
        """An hour of a busy gateway, for its charts."""
        counts = [index * index for index in range(361)]
        past = {"seconds": 10, "times": [f"2026-01-01T12:00:{index % 60:02}.000Z" for index in range(361)], "series": {
            name: counts for name in (
                "messagesReceived", "messagesSent", "bytesReceived", "bytesSent", "requests", "requestMicroseconds",
                "processorMilliseconds", "memoryBytes", "members", "links", "webSockets")}}
        page.route("**/v1/gateway/history", lambda route: route.fulfill(json=past))

    def operator(self, size=None, dark=False, view="Gateway"):
        page = self.page(self.gateway, size or DESKTOP, dark)
        self.come_in(page, self.gateway.code, "Olga")
        self.turn(page, view)
        return page
