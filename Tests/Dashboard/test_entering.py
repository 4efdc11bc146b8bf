"""Coming in: the code, the name, and who may what."""

import unittest

from gateway import Gateway, until
from stage import PHONE, Stage, expect


class Entering(Stage):
    def test_wrong_code_is_told_in_a_sentence_and_the_right_one_lets_in(self):
        gateway = self.gateways[0]
        page = self.page(gateway, PHONE)
        page.get_by_label("Pairing code").fill("AAAA-BBBB")
        page.get_by_label("Your name").fill("Ada")
        page.get_by_role("button", name="Join").click()
        expect(page.get_by_role("alert")).to_contain_text("This pairing code is not valid")
        expect(page.get_by_label("Pairing code")).to_be_focused()
        self.picture(page, "entrance-wrong-phone")
        # The code without hyphens and in small letters, as people type it.
        self.come_in(page, gateway.new_code().replace("-", "").lower(), "Ada")
        expect(page.locator(".you strong")).to_have_text("Ada")
        self.wait_for_peer(page, "Ada")
        self.assertEqual(["Ada", "Stage"], sorted(self.names_of(page)))

    def test_p_id_1_name_of_spaces_is_refused_and_spends_no_code(self):
        gateway = self.gateways[0]
        code = gateway.new_code()
        page = self.page(gateway, PHONE)
        page.get_by_label("Pairing code").fill(code)
        for name, why in (("   ", "Enter your name"), ("\u200b", "something that can be seen"), ("ž" * 40, "at most 63")):
            page.get_by_label("Your name").fill(name)
            page.get_by_role("button", name="Join").click()
            expect(page.get_by_role("alert")).to_contain_text(why)
            expect(page.get_by_label("Your name")).to_be_focused()
        self.picture(page, "entrance-no-name-phone")
        self.come_in(page, code, "  Ada ")
        expect(page.locator(".you strong")).to_have_text("Ada")

    def test_name_is_suggested_from_the_device_and_written_over(self):
        context = self.browser.new_context(user_agent="Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Mobile/15E148 Safari/604.1")
        self.contexts.append(context)
        page = context.new_page()
        page.faults = []
        page.goto(self.gateways[0].url)
        name = page.get_by_label("Your name")
        expect(name).to_have_value("iPhone")
        name.click()
        page.keyboard.type("Ada")
        expect(name).to_have_value("Ada")
        page.reload()
        page.get_by_label("Pairing code").fill(self.gateways[0].new_code())
        page.get_by_role("button", name="Join").click()
        expect(page.locator(".you strong")).to_have_text("iPhone")

    def test_who_was_let_in_without_a_name_is_asked_for_one(self):
        page = self.enter(self.gateways[0], "Ada")
        self.wait_for_peer(page, "Ada")
        # The settings of a client that was paired when spaces were accepted as a name.
        page.route("**/v1/gateway", self.without_name)
        page.evaluate("localStorage.vicinity = JSON.stringify({ ...JSON.parse(localStorage.vicinity), name: ' ', peer: null })")
        page.reload()
        expect(page.get_by_label("Your name")).to_be_focused()
        page.get_by_label("Your name").fill("  ")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert")).to_contain_text("Enter your name")
        page.get_by_label("Your name").fill("Augusta")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".you strong")).to_have_text("Augusta")
        self.wait_for_peer(page, "Augusta")
        # One that is on its way ends before the page.
        page.unroute_all(behavior="wait")

    @staticmethod
    def without_name(route):
        answer = route.fetch()
        about = answer.json()
        about["client"]["name"] = " "
        route.fulfill(response=answer, json=about)

    def test_address_with_a_code_fills_it_in_and_keeps_it_nowhere(self):
        gateway = self.gateways[0]
        code = gateway.new_code()
        page = self.page(gateway, PHONE)
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto("about:blank")
        page.goto(f"{gateway.url}/#code={code.lower()}")
        expect(page.get_by_label("Pairing code")).to_have_value(code)
        expect(page.get_by_label("Your name")).to_be_focused()
        self.assertEqual(f"{gateway.url}/", page.url)
        self.assertEqual([], [url for url in asked if code in url.split("#")[0].upper()])
        self.picture(page, "entrance-with-code-phone")
        page.get_by_label("Your name").fill("Ada")
        page.get_by_role("button", name="Join").click()
        expect(page.locator(".state")).to_have_text("Online")
        # A paired page ignores a code in the address, and does not keep it.
        page.goto(f"{gateway.url}/#code=ABCD-EFGH")
        expect(page.locator(".state")).to_have_text("Online")
        page.wait_for_function("() => location.hash === ''")
        page.go_back()
        self.assertNotIn("code", page.url)

    @staticmethod
    def names_of(page):
        return page.evaluate("fetch('/v1/peers').then((a) => a.json()).then((a) => a.items.map((p) => p.displayName))")

    def wait_for_peer(self, page, name):
        """A peer comes a moment after whose it is."""
        until(lambda: name in self.names_of(page), f"{name} has no peer")

    def test_reload_comes_back_as_the_same_peer(self):
        page = self.enter(self.gateways[0], "Ada")
        self.wait_for_peer(page, "Ada")
        page.reload()
        expect(page.locator(".state")).to_have_text("Online")
        expect(page.locator(".you strong")).to_have_text("Ada")
        # All requests of a page that opens have been made.
        page.wait_for_load_state("networkidle")
        self.assertEqual(["Ada", "Stage"], sorted(self.names_of(page)))

    def test_one_browser_is_at_home_at_two_gateways_of_one_machine(self):
        page = self.enter(self.gateways[0], "Ada")
        other = self.contexts[0].new_page()
        other.faults = []
        other.goto(self.gateways[1].url)
        self.come_in(other, self.gateways[1].new_code(), "Ada too")
        for page in (page, other):
            page.reload()
            expect(page.locator(".state")).to_have_text("Online")

    def test_operator_lets_somebody_in_and_out(self):
        # Only the code of a start makes an operator.
        gateway = Gateway("Office")
        self.addCleanup(gateway.close)
        page = self.page(gateway)
        self.come_in(page, gateway.code, "Olga")
        self.turn(page, "Gateway")
        page.get_by_role("button", name="Make a code").click()
        code = page.locator(".newcode .code")
        expect(code).to_be_visible()
        self.picture(page, "access")
        guest = self.page(gateway, PHONE)
        self.come_in(guest, code.inner_text(), "Guest of Olga")
        expect(code).to_be_hidden()
        row = page.locator(".rows li").filter(has_text="Guest of Olga").filter(has=page.get_by_role("button", name="Revoke"))
        row.get_by_role("button", name="Revoke").click()
        question = page.get_by_role("dialog", name="Revoke “Guest of Olga”?")
        expect(question).to_contain_text("files are deleted")
        self.picture(page, "revoking")
        question.get_by_role("button", name="Cancel").click()
        expect(row.get_by_role("button", name="Revoke")).to_be_focused()
        row.get_by_role("button", name="Revoke").click()
        question.get_by_role("button", name="Revoke and delete").click()
        expect(row).to_have_count(0)
        expect(guest.get_by_label("Pairing code")).to_be_visible()
        expect(guest.locator(".join")).to_contain_text("was signed out")
        # A new code lets it in again, on the same page.
        page.get_by_role("button", name="Make a code").click()
        expect(code).to_be_visible()
        self.come_in(guest, code.inner_text(), "Guest again")
        expect(guest.locator(".state")).to_have_text("Online")

    def test_viewer_looks_on_and_has_no_dead_buttons(self):
        gateway = self.gateways[0].operator()
        own = next(peer for peer in gateway.ask("GET", "/v1/peers")["items"] if peer["isGateway"])
        session = gateway.ask("POST", "/v1/sessions", {"peer": own["id"]})
        browser = gateway.ask("POST", "/v1/browsers", {"peer": own["id"], "serviceType": "adhoc"})
        ben = self.enter(self.gateways[1], "Ben")
        viewer = self.enter(gateway, "Vera", role="viewer", dark=True)
        expect(self.neighbour(viewer, "Ben")).to_be_visible()
        gateway.ask("POST", "/v1/invitations", {
            "peer": own["id"], "session": session["id"], "serviceType": "adhoc",
            "to": ben.evaluate("JSON.parse(localStorage.vicinity).peer")})
        self.answer(ben, "Accept")
        self.say(ben, "Hello gateway")
        expect(self.message(viewer, "Hello gateway")).to_be_visible()
        expect(viewer.locator(".notes")).to_contain_text("View only")
        for name in ("Invite", "Send", "Send files", "Remove", "Leave", "New session", "Change", "Make a code"):
            expect(viewer.get_by_role("button", name=name, exact=True)).to_have_count(0)
        expect(viewer.get_by_role("textbox", name="Message")).to_have_count(0)
        self.picture(viewer, "viewer-dark")
        gateway.ask("DELETE", f"/v1/browsers/{browser['id']}")
        gateway.ask("DELETE", f"/v1/sessions/{session['id']}")


if __name__ == "__main__":
    unittest.main()
