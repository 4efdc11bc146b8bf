"""The picture at the top of the README: two who talk, the one at a computer, the other with a phone."""

import base64
import os
import tempfile

from stage import PICTURES, Stage, expect

COMPUTER = {"width": 1000, "height": 660}
PHONE = {"width": 320, "height": 600}
PAGE = """<!doctype html><style>
body { margin: 0; width: 1440px; height: 760px; position: relative; background: #dfe8e4; }
img { position: absolute; display: block; box-shadow: 0 14px 34px rgb(0 40 32 / 24%); }
#computer { left: 50px; top: 50px; border-radius: 12px; }
#phone { right: 50px; bottom: 36px; border-radius: 30px; border: 8px solid #10191b; background: #10191b; }
</style><img id="computer" src="data:image/png;base64,COMPUTER"><img id="phone" src="data:image/png;base64,PHONE">"""


class Readme(Stage):
    gateway_names = ["Studio", "Garden house"]

    def test_two_talk_and_share_a_file_on_a_computer_and_a_phone(self):
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
        pictures = {}
        for name, page in (("COMPUTER", ada), ("PHONE", ben)):
            page.evaluate("document.activeElement.blur()")
            pictures[name] = base64.b64encode(page.screenshot()).decode()
        page = self.browser.new_page(viewport={"width": 1440, "height": 760})
        page.set_content(PAGE.replace("COMPUTER", pictures["COMPUTER"]).replace("PHONE", pictures["PHONE"]))
        page.screenshot(path=os.path.join(PICTURES, "readme.png"))
        page.close()
