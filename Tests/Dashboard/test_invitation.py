"""An invitation is a dialog beside the page: it has a name and a description, and takes the focus from nobody."""

from stage import Stage, expect


class Invitation(Stage):
    def test_invitation_is_a_dialog_with_a_name_that_takes_no_focus(self):
        ada, ben = self.enter(self.gateways[0], "Ada"), self.enter(self.gateways[1], "Ben")
        ben.get_by_role("button", name="Change").click()
        ben.get_by_label("Your name").fill("Benja")
        self.invite(ada, "Ben", "Tea?")
        dialog = ben.get_by_role("dialog", name="Ada invites you to chat")
        expect(dialog).to_have_accessible_description("Tea?")
        expect(ben.get_by_label("Your name")).to_be_focused()
        # The keyboard goes on from the page to the dialog and its answers.
        dialog.get_by_role("button", name="Block").focus()
        for answer in ("Decline", "Accept"):
            ben.keyboard.press("Tab")
            expect(dialog.get_by_role("button", name=answer)).to_be_focused()
        ben.keyboard.press("Enter")
        expect(self.neighbour(ada, "Ben")).to_contain_text("In this session")

    def test_invitation_that_was_taken_back_is_among_those_that_were_missed_and_is_answered_by_one_back(self):
        ada, ben = self.enter(self.gateways[0], "Ada"), self.enter(self.gateways[1], "Ben")
        self.invite(ada, "Ben")
        expect(ben.locator(".ring")).to_have_count(1)
        self.neighbour(ada, "Ben").get_by_role("button", name="Cancel invitation").click()
        expect(ben.locator(".ring")).to_have_count(0)
        missed = ben.get_by_role("region", name="Missed invitations").get_by_role("listitem")
        expect(missed).to_contain_text("then cancelled")
        self.picture(ben, "missed-cancelled")
        missed.get_by_role("button", name="Invite back").click()
        expect(missed).to_contain_text("Invitation sent")
        expect(missed.get_by_role("button")).to_be_hidden()
        self.answer(ada, "Accept")
        expect(missed).to_have_count(0)
        expect(self.neighbour(ben, "Ada")).to_contain_text("In this session")
