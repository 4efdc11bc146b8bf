"""The picture at the top of the README: two who talk, who is nearby, and a photo wall."""

import base64
import os
import tempfile

from gateway import Gateway
from guests import Guests, add_photo
from stage import PICTURES, expect

COMPUTER = {"width": 1000, "height": 660}
PHONE = {"width": 320, "height": 640}
PAGE = """<!doctype html><style>
body { margin: 0; width: 1440px; height: 1470px; position: relative; background: #dfe8e4; }
img { position: absolute; display: block; box-shadow: 0 14px 34px rgb(0 40 32 / 24%); }
.computer { border-radius: 12px; }
.phone { border-radius: 30px; border: 8px solid #10191b; background: #10191b; }
#talk { left: 50px; top: 50px; }
#answer { right: 42px; top: 52px; }
#nearby { left: 42px; top: 762px; }
#wall { right: 50px; top: 760px; }
</style><img id="talk" class="computer" src="data:image/png;base64,TALK"><img id="answer" class="phone" src="data:image/png;base64,ANSWER">
<img id="nearby" class="phone" src="data:image/png;base64,NEARBY"><img id="wall" class="computer" src="data:image/png;base64,WALL">"""
# A hill, a sun and a lake.
SCENE = """(context) => {
  const light = context.createLinearGradient(0, 0, 0, 700)
  light.addColorStop(0, '%s')
  light.addColorStop(1, '#fff3dd')
  context.fillStyle = light
  context.fillRect(0, 0, 1500, 1000)
  context.fillStyle = '#fffaf0'
  context.beginPath()
  context.arc(1060, 380, 110, 0, 7)
  context.fill()
  context.fillStyle = '%s'
  context.beginPath()
  context.moveTo(0, 620)
  context.bezierCurveTo(400, 250, 700, 560, 900, 520)
  context.bezierCurveTo(1150, 470, 1300, 380, 1500, 560)
  context.lineTo(1500, 1000)
  context.lineTo(0, 1000)
  context.fill()
  context.fillStyle = '%s'
  context.fillRect(0, 700, 1500, 300)
}"""
SCENES = [
    ("evening", "#e8764f", "#4a4466", "#6d6a8f"), ("noon", "#6db5e8", "#5b8c5a", "#3f7fa8"),
    ("morning", "#f2b8c6", "#7a6c8f", "#9fb7c9"), ("dusk", "#5f6fb5", "#2f3a5f", "#46548a")]


class Readme(Guests):
    gateway_names = ["Studio", "Garden house"]

    def talk(self):
        """Two who share a file, the one at a computer, the other with a phone."""
        ada = self.enter(self.gateways[0], "Ada", size=COMPUTER)
        ben = self.enter(self.gateways[1], "Ben", size=PHONE, dark=True)
        self.meet(ada, "Ada", ben, "Ben")
        self.say(ada, "Hi Ben, the internet is down again. Do you still get this?")
        expect(self.message(ben, "Do you still get this?")).to_be_visible()
        self.say(ben, "At once. Can you send me the plan?")
        expect(self.message(ada, "send me the plan")).to_be_visible()
        with tempfile.TemporaryDirectory() as folder:
            plan = os.path.join(folder, "plan of the garden.pdf")
            with open(plan, "wb") as file:
                file.write(os.urandom(2_400_000))
            ada.locator(".composer input[type=file]").set_input_files(plan)
            ben.locator(".withfile").get_by_role("button", name="Accept").click()
            expect(ada.locator(".withfile")).to_contain_text("received")
        self.say(ben, "Got it, thank you!")
        expect(self.message(ada, "Got it")).to_be_visible()
        return ada, ben

    def nearby(self):
        """Somebody with a phone, among others who are there as programs."""
        gateway = self.gateways[0].operator()
        for name in ("Clara", "Dev", "Emre", "Fatima"):
            peer = gateway.ask("POST", "/v1/peers", {"displayName": name})["id"]
            self.addCleanup(gateway.ask, "DELETE", f"/v1/peers/{peer}")
            gateway.ask("POST", "/v1/advertisers", {"peer": peer, "serviceType": "adhoc"})
        page = self.enter(self.gateways[1], "Grace", size=PHONE)
        expect(page.locator(".count")).to_have_text("6 people nearby")
        return page

    def wall(self):
        gateway = Gateway("Summer party")
        self.addCleanup(gateway.close)
        host = self.page(gateway, COMPUTER)
        self.come_in(host, gateway.code, "Olga")
        self.turn(host, "Photos")
        host.get_by_role("button", name="Open a photo wall").click()
        guest = self.open_guest(gateway, host, PHONE)
        self.join_as_guest(guest, "Gina")
        for count, (name, *colours) in enumerate(SCENES, 1):
            add_photo(guest, name, (1500, 1000), SCENE % tuple(colours))
            expect(host.locator(".thumbs li")).to_have_count(count)
        host.locator(".large img").evaluate("(e) => e.decode()")
        return host

    def test_two_talk_others_are_nearby_and_guests_fill_a_wall(self):
        ada, ben = self.talk()
        pictures = {}
        for name, page in (("TALK", ada), ("ANSWER", ben), ("NEARBY", self.nearby()), ("WALL", self.wall())):
            page.evaluate("document.activeElement.blur()")
            pictures[name] = base64.b64encode(page.screenshot()).decode()
        html = PAGE
        for name, picture in pictures.items():
            html = html.replace(f"base64,{name}", f"base64,{picture}")
        page = self.browser.new_page(viewport={"width": 1440, "height": 1470})
        page.set_content(html)
        page.screenshot(path=os.path.join(PICTURES, "readme.png"))
        page.close()
