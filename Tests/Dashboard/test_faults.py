"""The gateway goes away and comes back, and the page goes on by itself."""

from stage import PHONE, Stage, expect


class Faults(Stage):
    def test_message_that_the_gateway_does_not_take_can_be_sent_again(self):
        ada = self.enter(self.gateways[0], "Ada")
        ben = self.enter(self.gateways[1], "Ben")
        self.meet(ada, "Ada", ben, "Ben")
        refusal = {"type": "/problems/tooLarge", "title": "Too large", "status": 413, "detail": "This message is too large."}
        ada.route("**/messages/*", lambda route: route.fulfill(
            status=413, content_type="application/problem+json", json=refusal))
        self.say(ada, "again and again")
        row = ada.locator(".message").filter(has_text="again and again")
        expect(row).to_contain_text("Not sent")
        self.picture(ada, "not-sent")
        ada.unroute("**/messages/*")
        row.get_by_role("button", name="Try again").click()
        expect(self.message(ben, "again and again")).to_have_count(1)
        expect(row).not_to_contain_text("Not sent")
        expect(self.message(ada, "again and again")).to_have_count(1)

    def test_message_waits_for_the_gateway_also_over_a_reload_and_is_sent_once(self):
        ada = self.enter(self.gateways[0], "Ada")
        ben = self.enter(self.gateways[1], "Ben")
        self.meet(ada, "Ada", ben, "Ben")
        # The gateway receives the first request, whose answer the page does not get, and no other.
        heard = []

        def lose(route):
            if not heard:
                heard.append(route.fetch())
            route.abort()

        ada.route("**/messages/*", lose)
        for text in ("one", "two"):
            self.say(ada, text)
        expect(ben.locator(".message .text")).to_have_text(["one"])
        expect(ada.locator(".message").filter(has_text="two")).to_contain_text("Sending…")
        ada.reload()
        expect(ada.locator(".message .text")).to_have_text(["one", "two"])
        ada.unroute("**/messages/*")
        expect(ben.locator(".message .text")).to_have_text(["one", "two"])
        expect(ada.locator(".message .text")).to_have_text(["one", "two"])
        expect(ada.locator("[data-state=sending]")).to_have_count(0)

    def test_message_that_is_written_while_the_gateway_is_away_goes_out_when_it_is_back(self):
        gateway = self.gateways[0]
        ada = self.enter(gateway, "Ada")
        ben = self.enter(self.gateways[1], "Ben", size=PHONE)
        self.meet(ada, "Ada", ben, "Ben")
        gateway.stop()
        expect(ada.locator(".state")).to_have_text("Reconnecting…")
        self.say(ada, "for later")
        expect(ada.locator(".message").filter(has_text="for later")).to_contain_text("Waiting for the gateway…")
        self.picture(ada, "waiting-for-gateway")
        gateway.start()
        expect(self.message(ben, "for later")).to_have_count(1, timeout=60_000)
        expect(ada.locator("[data-state=sending]")).to_have_count(0)

    def test_page_that_is_opened_while_the_gateway_is_away_comes_in_when_it_is_back(self):
        gateway = self.gateways[0]
        ada = self.enter(gateway, "Ada")
        ada.route("**/v1/gateway", lambda route: route.abort())
        ada.reload()
        expect(ada.locator(".join")).to_contain_text("does not respond")
        ada.unroute("**/v1/gateway")
        expect(ada.locator(".state")).to_have_text("Online")
