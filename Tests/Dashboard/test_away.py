"""Somebody closes the page: the others see that, and since when, and that it is open again."""

import re

from gateway import Gateway, free_port
from stage import CHROMIUM, Stage, expect


class Away(Stage):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.browser = cls.launch(CHROMIUM)
        ports = [free_port(), free_port()]
        cls.gateways = [
            Gateway(name, port, [other for other in ports if other != port], more=["--away-after", "1"])
            for name, port in zip(["Stage", "Foyer"], ports)]

    def test_p_hab_4_a_page_that_is_closed_is_away_on_the_other_until_it_is_open_again(self):
        ada = self.enter(self.gateways[0], "Ada")
        ben = self.enter(self.gateways[1], "Ben")
        self.meet(ada, "Ada", ben, "Ben")
        self.turn(ada, "Session")
        ada.get_by_role("button", name="Members").click()
        member = ada.locator(".panel li").filter(has_text="Ben")
        expect(member).to_contain_text("Connected")
        address, context = ben.url, ben.context
        ben.close()
        since = re.compile(r"Away since \d")
        expect(member).to_contain_text(since)
        expect(self.neighbour(ada, "Ben")).to_contain_text(since)
        self.picture(ada, "away")
        self.say(ada, "For when you are back")

        again = context.new_page()
        again.faults = []
        again.goto(address)
        expect(member).to_contain_text("Connected")
        expect(self.neighbour(ada, "Ben")).not_to_contain_text("Away")
        self.turn(again, "Session")
        expect(self.message(again, "For when you are back")).to_have_count(1)
