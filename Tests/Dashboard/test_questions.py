"""Destructive actions, and those that let strangers in, ask first; others can be undone for some seconds."""

from stage import DESKTOP, PHONE, Stage, expect


class Questions(Stage):
    def conversation(self, **look):
        """Ada and Ben, who have said something."""
        ada = self.enter(self.gateways[0], "Ada", **look)
        ben = self.enter(self.gateways[1], "Ben")
        self.meet(ada, "Ada", ben, "Ben")
        self.say(ada, "Between us")
        self.say(ben, "Of course")
        expect(self.message(ada, "Of course")).to_be_visible()
        expect(self.message(ben, "Between us")).to_be_visible()
        return ada, ben

    @staticmethod
    def leave(page):
        if page.get_by_role("button", name="Leave", exact=True).is_hidden():
            page.get_by_role("button", name="Members").click()
        page.get_by_role("button", name="Leave", exact=True).click()
        return page.get_by_role("dialog")

    def test_leaving_asks_and_can_be_taken_back(self):
        ada, ben = self.conversation(size=PHONE)
        question = self.leave(ada)
        expect(question).to_contain_text("Leave the session with Ben?")
        expect(question).to_contain_text("Ben sees that you leave.")
        expect(question).to_contain_text("2 messages of this session are deleted for you")
        expect(question.get_by_role("button", name="Cancel")).to_be_focused()
        self.picture(ada, "question-leave-phone")
        ada.keyboard.press("Escape")
        expect(question).to_have_count(0)
        expect(ada.get_by_role("button", name="Leave", exact=True)).to_be_focused()
        self.leave(ada).get_by_role("button", name="Leave and delete").click()
        expect(ada.locator(".roomhead h2")).to_have_text("New session")
        expect(ada.locator(".undo")).to_contain_text("You left: Ben")
        self.picture(ada, "undo-phone")
        ada.get_by_role("button", name="Undo").click()
        expect(ada.locator(".roomhead h2")).to_have_text("Ben")
        expect(self.message(ada, "Between us")).to_be_visible()
        expect(ada.get_by_role("tab")).to_have_count(0)
        self.say(ben, "Still there?")
        expect(self.message(ada, "Still there?")).to_be_visible()
        expect(ben.locator(".happening").filter(has_text="left")).to_have_count(0)

    def test_leaving_is_carried_out_in_time_or_with_the_page(self):
        for how in ("time", "reload"):
            with self.subTest(how):
                ada, ben = self.conversation()
                self.leave(ada).get_by_role("button", name="Leave and delete").click()
                expect(ada.locator(".undo")).to_be_visible()
                if how == "reload":
                    ada.reload()
                expect(ben.locator(".happening").last).to_contain_text("Ada left", timeout=30_000)
                expect(ada.locator(".undo")).to_be_hidden()
                expect(ada.locator(".roomhead h2")).to_have_text("New session")
                # A full history says who was there.
                expect(ben.locator(".roomhead h2")).to_have_text("Ada (left)")
                self.picture(ben, "who-left")
                self.sign_out()

    def test_everybody_is_asked_about_and_a_new_session_keeps_the_talk_among_those_who_had_it(self):
        ada, ben = self.conversation(size=DESKTOP)
        cleo = self.enter(self.gateways[1], "Cleo")
        self.let_everybody_join(cleo)
        everybody = ada.get_by_role("radio", name="Everyone")
        everybody.click()
        question = ada.get_by_role("dialog", name="Let everyone nearby join?")
        expect(question).to_contain_text("You are not asked")
        expect(question).to_contain_text("They do not see earlier messages")
        expect(question).to_contain_text("the one with Ben stays as it is")
        self.picture(ada, "question-everybody")
        question.get_by_role("button", name="Cancel").click()
        expect(ada.get_by_role("radio", name="Ask me first")).to_be_checked()
        expect(ada.get_by_role("radio", name="Ask me first")).to_be_focused()
        expect(ada.locator(".roomhead")).to_contain_text("1 person connected")
        # The conversation continues as a new session.
        self.let_everybody_join(ada, "Start a new session")
        expect(ada.locator(".roomhead h2")).to_have_text("Cleo")
        expect(ada.locator(".roomhead")).to_contain_text("Everyone nearby can join")
        self.picture(ada, "everybody")
        self.say(ada, "Hello Cleo")
        expect(self.message(cleo, "Hello Cleo")).to_be_visible()
        expect(ada.get_by_role("tab")).to_have_count(2)
        ada.get_by_role("tab", name="Ben").click()
        expect(ada.locator(".roomhead")).not_to_contain_text("Everyone")
        expect(self.message(ada, "Between us")).to_be_visible()
        expect(ben.locator(".roomhead h2")).to_have_text("Ada")
        # The open one ends, and the other one does not take its place.
        ada.get_by_role("tab", name="Cleo").click()
        self.leave(ada).get_by_role("button", name="Leave and delete").click()
        expect(ada.get_by_role("radio", name="Ask me first")).to_be_checked()
        expect(ada.locator(".roomhead h2")).to_have_text("Ben")
        ada.reload()
        expect(cleo.locator(".happening").last).to_contain_text("Ada left")
        expect(ada.locator(".roomhead h2")).to_have_text("Ben")
        expect(ada.locator(".roomhead")).to_contain_text("1 person connected")

    def test_everybody_joins_this_session_where_that_is_chosen_and_is_taken_back(self):
        ada, ben = self.conversation(dark=True, size=PHONE)
        self.turn(ada, "Nearby")
        ada.get_by_role("radio", name="Everyone").click()
        self.picture(ada, "question-everybody-phone-dark")
        ada.get_by_role("button", name="Open this session").click()
        expect(ada.get_by_role("radio", name="Everyone")).to_be_checked()
        self.picture(ada, "undo-everybody-phone-dark")
        ada.get_by_role("button", name="Undo").click()
        expect(ada.get_by_role("radio", name="Ask me first")).to_be_checked()
        # A new session that nobody has joined goes again.
        self.let_everybody_join(ada, "Start a new session")
        expect(ada.get_by_role("tab", include_hidden=True)).to_have_count(2)
        ada.get_by_role("button", name="Undo").click()
        expect(ada.get_by_role("radio", name="Ask me first")).to_be_checked()
        expect(ada.get_by_role("tab", include_hidden=True).filter(has_text="New session")).to_have_count(0)
        cleo = self.enter(self.gateways[1], "Cleo")
        expect(self.neighbour(ada, "Cleo")).to_be_visible()
        expect(cleo.locator(".roomhead")).to_contain_text("No one is connected")
        self.let_everybody_join(ada, "Open this session")
        self.let_everybody_join(cleo)
        expect(cleo.locator(".roomhead")).to_contain_text("2 people connected")
        self.say(cleo, "Hello all")
        expect(self.message(ben, "Hello all")).to_be_visible()
        expect(self.message(cleo, "Between us")).to_have_count(0)

    def test_new_name_and_removing_somebody_ask_where_something_is_lost(self):
        ada, ben = self.conversation()
        ada.get_by_role("button", name="Change").click()
        ada.get_by_label("Your name").fill("Augusta")
        ada.get_by_role("button", name="Save").click()
        question = ada.get_by_role("dialog", name="Change your name to “Augusta”?")
        expect(question).to_contain_text("You leave your session")
        question.get_by_role("button", name="Cancel").click()
        ada.locator(".you form").get_by_role("button", name="Cancel").click()
        expect(ada.locator(".you strong")).to_have_text("Ada")
        ada.get_by_role("button", name="Members").click()
        ada.get_by_role("button", name="Remove").click()
        question = ada.get_by_role("dialog", name="Remove Ben from this session?")
        question.get_by_role("button", name="Cancel").click()
        expect(ben.locator(".roomhead")).to_contain_text("1 person connected")
        ada.get_by_role("button", name="Remove").click()
        question.get_by_role("button", name="Remove").click()
        expect(ben.locator(".roomhead")).to_contain_text("No one is connected")

    def test_keyboard_stays_inside_of_a_question(self):
        ada, _ = self.conversation()
        question = self.leave(ada)
        expect(question).to_be_visible()
        for _ in range(4):
            ada.keyboard.press("Tab")
            self.assertTrue(ada.evaluate(
                "document.activeElement === document.body || document.activeElement.closest('dialog') !== null"))
        self.assertEqual("true", ada.evaluate("String(document.querySelector('dialog').matches(':modal'))"))
