"""The panels of a session: below its head in a wide window, and a sheet below the messages on a phone."""

import re

from stage import DESKTOP, Stage, expect

PHONES = {"small": {"width": 320, "height": 640}, "usual": {"width": 390, "height": 844}}
# The last message is there to be read, between the head and the sheet.
IS_SEEN = """() => {
  const [last, head, sheet] = [[...document.querySelectorAll('.message .text')].at(-1), document.querySelector('.roomhead'), document.querySelector('.panel:not([hidden])')]
    .map((e) => e.getBoundingClientRect())
  return last.top >= head.bottom && last.bottom <= sheet.top && sheet.bottom <= innerHeight
}"""


class Panels(Stage):
    def conversation(self, size):
        ada, ben = self.enter(self.gateways[0], "Ada", size=size), self.enter(self.gateways[1], "Ben")
        self.meet(ada, "Ada", ben, "Ben")
        for number in range(12):
            self.say(ada, f"Message {number}")
        expect(self.message(ben, "Message 11")).to_be_visible()
        return ada, ben

    @staticmethod
    def press_close(page):
        page.locator("#members").get_by_role("button", name="Close").click()

    @staticmethod
    def press_escape(page):
        page.keyboard.press("Escape")

    @staticmethod
    def tap_beside(page):
        page.locator(".chat").click(position={"x": 30, "y": 100})

    def test_members_on_a_phone_are_a_sheet_that_leaves_the_last_messages_in_sight(self):
        ada, ben = self.conversation(PHONES["usual"])
        button, sheet = ada.get_by_role("button", name="Members"), ada.locator("#members")
        words = ada.get_by_role("textbox", name="Message")
        words.fill("Half a sentence")
        for close in (self.press_close, self.press_escape, self.tap_beside):
            with self.subTest(close.__name__):
                button.click()
                expect(sheet.locator("li")).to_contain_text("Ben")
                expect(button).to_have_attribute("aria-expanded", "true")
                expect(words).to_be_hidden()
                close(ada)
                expect(sheet).to_be_hidden()
                expect(button).to_be_focused()
                expect(words).to_have_value("Half a sentence")
        button.click()
        # The keyboard goes on in the sheet.
        ada.keyboard.press("Tab")
        expect(sheet.get_by_role("button", name="Close")).to_be_focused()
        for name, size in PHONES.items():
            ada.set_viewport_size(size)
            for scheme in ("light", "dark"):
                ada.emulate_media(color_scheme=scheme)
                with self.subTest(f"{name}, {scheme}"):
                    ada.wait_for_function(IS_SEEN)
                    self.picture(ada, f"members-{name}-{scheme}")
        self.say(ben, "Are you there?")
        expect(self.message(ada, "Are you there?")).to_be_visible()
        ada.wait_for_function(IS_SEEN)
        # A question has the key for itself.
        sheet.get_by_role("button", name="Leave").click()
        expect(ada.get_by_role("dialog")).to_be_visible()
        ada.keyboard.press("Escape")
        expect(ada.get_by_role("dialog")).to_have_count(0)
        expect(sheet).to_be_visible()

    def test_members_in_a_wide_window_leave_the_messages_to_be_used(self):
        ada, _ = self.conversation(DESKTOP)
        ada.get_by_role("button", name="Members").click()
        sheet = ada.locator("#members")
        expect(sheet.locator("li")).to_contain_text("Ben")
        self.picture(ada, "members")
        self.say(ada, "With the members in sight")
        expect(self.message(ada, "With the members in sight")).to_be_visible()
        expect(sheet).to_be_visible()
        ada.keyboard.press("Escape")
        expect(sheet).to_be_hidden()
        # A window that becomes narrow has a sheet at once.
        ada.get_by_role("button", name="Members").click()
        ada.set_viewport_size(PHONES["usual"])
        expect(ada.get_by_role("textbox", name="Message")).to_be_hidden()
        self.press_close(ada)
        expect(ada.get_by_role("textbox", name="Message")).to_be_visible()

    @staticmethod
    def until_held(page, held, count):
        """So many requests have come: while a page waits, they do."""
        for _ in range(1500):
            if len(held) >= count:
                return
            page.wait_for_timeout(10)
        raise AssertionError(f"{len(held)} requests instead of {count}")

    def test_lock_stays_as_it_was_chosen_while_the_gateway_has_not_answered(self):
        ada, _ = self.conversation(DESKTOP)
        held = []
        ada.route(
            re.compile(r"/v1/sessions/[^/]+$"),
            lambda route: held.append(route) if route.request.method == "PATCH" else route.continue_())
        button, lock = ada.get_by_role("button", name="Members"), ada.get_by_label("Lock session")
        button.click()
        lock.check()
        button.click()
        expect(lock).to_be_hidden()
        button.click()
        expect(lock).to_be_checked()
        expect(ada.locator(".roomhead")).not_to_contain_text("Locked")
        self.until_held(ada, held, 1)
        held[0].continue_()
        expect(ada.locator(".roomhead")).to_contain_text("Locked")
        lock.uncheck()
        self.until_held(ada, held, 2)
        held[1].fulfill(status=503, content_type="application/problem+json", body="{}")
        expect(lock).to_be_checked()
