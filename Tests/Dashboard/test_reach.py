"""How people are reached: medium and round trip, of those who are seen."""

import re

from stage import PHONE, Stage, expect


class Reach(Stage):
    def test_people_nearby_and_members_have_medium_and_round_trip(self):
        ada, ben = self.enter(self.gateways[0], "Ada"), self.enter(self.gateways[1], "Ben")
        way = re.compile(r"^Local network · .*ms$")
        expect(self.neighbour(ada, "Ben").locator(".reach")).to_have_text(way)
        expect(self.neighbour(ada, "Ben").locator(".reach")).to_have_attribute("title", re.compile("round trip"))
        self.enter(self.gateways[0], "Cleo")
        expect(self.neighbour(ada, "Cleo").locator(".reach")).to_have_text("On this gateway")
        self.meet(ada, "Ada", ben, "Ben")
        ada.get_by_role("button", name="Members").click()
        expect(ada.locator("#members .reach")).to_have_text(way)
        self.picture(ada, "reach")

    def test_only_those_who_are_seen_are_asked_for(self):
        gateway = self.gateways[1].operator()
        for number in range(40):
            peer = gateway.ask("POST", "/v1/peers", {"displayName": f"Person {number:02}"})["id"]
            self.addCleanup(gateway.ask, "DELETE", f"/v1/peers/{peer}")
            gateway.ask("POST", "/v1/advertisers", {"peer": peer, "serviceType": "adhoc"})
        page = self.page(self.gateways[0], PHONE)
        asked = set()
        page.on("request", lambda request: asked.add(request.url) if request.url.endswith("/reach") else None)
        self.come_in(page, self.gateways[0].new_code(), "Ada")
        expect(page.locator(".count")).to_have_text("40 people nearby")
        expect(self.neighbour(page, "Person 03").locator(".reach")).to_contain_text("Local network")
        self.picture(page, "reach-phone")
        page.locator("#nearby").evaluate("(e) => { e.scrollTop = e.scrollHeight / 2 }")
        expect(page.locator(".nearby > .people > li").last.locator(".reach")).to_have_count(1)
        page.wait_for_timeout(2500)
        self.assertLess(len(asked), 30)
