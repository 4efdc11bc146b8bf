"""Guests of a session: an operator shows a code, and phones that scan it chat there, with no account and no app."""

from datetime import datetime, timedelta, timezone

from guests import OperatorStage
from stage import expect


class RoomGuests(OperatorStage):
    def test_guests_chat_in_a_session_until_no_more_are_let_in(self):
        host = self.operator(view="Sessions")
        host.get_by_role("button", name="Members").click()
        host.get_by_role("button", name="Invite guests").click()
        dialog = host.get_by_role("dialog", name="Invite guests")
        dialog.get_by_label("Number of guests").fill("5")
        dialog.get_by_label("Valid for").select_option(label="3 hr")
        self.picture(host, "guests-asked")
        dialog.get_by_role("button", name="Make a code").click()
        expect(dialog.get_by_role("img", name="QR code")).to_be_visible()
        self.picture(host, "guests-code")
        # The gateway ends it, though no page is open then.
        session = host.evaluate("fetch('/v1/sessions').then((a) => a.json())")["items"][0]
        left = datetime.fromisoformat(session["adhocUntil"]) - datetime.now(timezone.utc)
        self.assertTrue(timedelta(hours=2.9) < left <= timedelta(hours=3), left)
        link = dialog.get_by_role("link").get_attribute("href")
        dialog.get_by_role("button", name="Close").click()
        gina = self.open_link(self.gateway, link)
        self.picture(gina, "guest-of-session-joins-phone")
        gina.get_by_label("Your name").fill("Gina")
        gina.get_by_role("button", name="Join").click()
        expect(gina.locator(".roomhead")).to_contain_text("1 person connected")
        expect(host.locator(".roomhead")).to_contain_text("1 person connected · Open to guests")
        for page, other, text in ((gina, host, "Hello Olga"), (host, gina, "Welcome")):
            page.get_by_role("textbox", name="Message").fill(text)
            page.keyboard.press("Enter")
            expect(self.message(other, text)).to_be_visible()
        self.picture(gina, "guest-of-session-phone")
        gina.reload()
        expect(self.message(gina, "Welcome")).to_be_visible()
        # It may do this alone.
        may = gina.evaluate("Promise.all(['/v1/events', '/v1/clients', '/v1/streams'].map((p) => fetch(p).then((a) => a.status)))")
        self.assertEqual([403, 403, 404], may)

        host.get_by_role("button", name="Invite guests").click()
        host.get_by_role("dialog").get_by_role("button", name="End invitation").click()
        expect(host.get_by_role("dialog").get_by_label("Number of guests")).to_be_visible()
        host.keyboard.press("Escape")
        expect(host.locator(".roomhead")).not_to_contain_text("Open to guests")
        late = self.open_link(self.gateway, link)
        late.get_by_label("Your name").fill("Gustav")
        late.get_by_role("button", name="Join").click()
        expect(late.get_by_role("alert")).to_contain_text("not valid")
        gina.get_by_role("button", name="Leave").click()
        gina.get_by_role("dialog").get_by_role("button", name="Delete and leave").click()
        expect(gina.get_by_label("Pairing code")).to_be_visible()
        expect(host.locator(".roomhead")).to_contain_text("No one is connected")
