"""The sheet with which a session is put together from those nearby."""

from stage import PHONE, Stage, expect


class Gather(Stage):
    def sheet(self, page):
        self.turn(page, "Nearby")
        page.get_by_role("button", name="Invite several people").click()
        return page.get_by_role("dialog", name="Invite several people")

    @staticmethod
    def row(sheet, name):
        return sheet.get_by_role("listitem").filter(has_text=name)

    def ask_for(self, sheet, name):
        self.row(sheet, name).get_by_role("button", name="Invite").click()
        expect(self.row(sheet, name)).to_contain_text("Invitation sent")

    def test_p_bro_6_sheet_has_states_fewest_most_done_and_a_filter_and_stops_browsing_when_it_is_gone(self):
        ada = self.enter(self.gateways[0], "Ada")
        ben, cara, dora = (self.enter(self.gateways[1], name) for name in ("Ben", "Cara", "Dora"))
        for name in ("Ben", "Cara", "Dora"):
            expect(self.neighbour(ada, name)).to_be_visible()
        sheet = self.sheet(ada)
        low, high = sheet.get_by_label("At least"), sheet.get_by_label("At most")
        done = sheet.get_by_role("button", name="Done")
        expect(low).to_have_value("2")
        expect(high).to_have_value("8")
        expect(sheet.get_by_role("status")).to_have_text("1 of 2 to 8 people so far")
        expect(sheet.locator(".pulse")).to_be_visible()
        expect(sheet.get_by_role("listitem")).to_have_count(3)
        for name in ("Ben", "Cara", "Dora"):
            expect(self.row(sheet, name)).to_contain_text("Nearby")
        expect(done).to_be_disabled()
        self.picture(ada, "gather")

        self.ask_for(sheet, "Ben")
        self.answer(ben, "Decline")
        expect(self.row(sheet, "Ben")).to_contain_text("Declined")
        self.ask_for(sheet, "Cara")
        self.answer(cara, "Accept")
        expect(self.row(sheet, "Cara")).to_contain_text("Connected")
        expect(sheet.get_by_role("status")).to_have_text("2 of 2 to 8 people so far")
        expect(done).to_be_enabled()

        # The filter keeps connected people in the list.
        sheet.get_by_label("Filter").fill("dor")
        expect(sheet.get_by_role("listitem")).to_have_count(2)
        expect(self.row(sheet, "Ben")).to_have_count(0)
        sheet.get_by_label("Filter").fill("")
        # Invite is disabled at the most, and Done below the fewest.
        high.fill("2")
        expect(self.row(sheet, "Dora").get_by_role("button", name="Invite")).to_be_disabled()
        high.fill("3")
        low.fill("3")
        expect(done).to_be_disabled()
        self.ask_for(sheet, "Dora")
        self.picture(ada, "gather-asked")
        self.answer(dora, "Accept")
        expect(sheet.get_by_role("status")).to_have_text("3 of 3 people so far")
        done.click()
        expect(sheet).to_have_count(0)
        expect(ada.locator(".roomhead")).to_contain_text("2 people connected")
        expect(ada.locator(".composer textarea")).to_be_enabled()

        # Browsing stops with the sheet if it was off before.
        self.turn(ada, "Nearby")
        ada.get_by_role("button", name="Stop searching").click()
        expect(ada.get_by_role("button", name="Search again")).to_be_visible()
        expect(ada.get_by_role("button", name="Invite several people")).to_be_visible()
        sheet = self.sheet(ada)
        expect(sheet.get_by_role("listitem")).to_have_count(3)
        ada.keyboard.press("Escape")
        expect(sheet).to_have_count(0)
        expect(ada.get_by_role("button", name="Search again")).to_be_visible()

    def test_p_bro_6_cancel_takes_back_what_waits_and_leaves_and_other_sessions_stay(self):
        ada = self.enter(self.gateways[0], "Ada", size=PHONE, dark=True)
        ben, cara, dora = (self.enter(self.gateways[1], name) for name in ("Ben", "Cara", "Dora"))
        self.meet(ada, "Ada", ben, "Ben")
        self.turn(ada, "Nearby")
        for name in ("Cara", "Dora"):
            expect(self.neighbour(ada, name)).to_be_visible()
        sheet = self.sheet(ada)
        self.ask_for(sheet, "Cara")
        self.answer(cara, "Accept")
        expect(self.row(sheet, "Cara")).to_contain_text("Connected")
        self.ask_for(sheet, "Dora")
        expect(dora.locator(".ring")).to_be_visible()
        self.picture(ada, "gather-phone-dark")
        sheet.get_by_role("button", name="Cancel", exact=True).click()
        expect(sheet).to_have_count(0)
        expect(dora.locator(".ring")).to_have_count(0)
        expect(cara.locator(".roomhead")).to_contain_text("No one is connected")
        expect(ben.locator(".roomhead")).to_contain_text("1 person connected")
        self.turn(ada, "Sessions")
        expect(ada.locator(".roomhead h2")).to_have_text("Ben")
