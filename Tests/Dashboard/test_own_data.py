"""The stored data of a client: exported, and deleted."""

import json

from gateway import until
from stage import PHONE, Stage, expect


class OwnData(Stage):
    def test_data_is_saved_as_a_file_and_deleted_after_a_question(self):
        ada = self.enter(self.gateways[0], "Ada")
        ben = self.enter(self.gateways[1], "Ben", size=PHONE)
        self.meet(ada, "Ada", ben, "Ben")
        self.say(ada, "Something to keep")
        expect(self.message(ben, "Something to keep")).to_be_visible()

        self.turn(ada, "Gateway")
        with ada.expect_download() as download:
            ada.get_by_role("link", name="Save my data").click()
        self.assertEqual("Ada.ndjson", download.value.suggested_filename)
        with open(download.value.path(), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual("end", lines[-1]["kind"])
        self.assertIn("Something to keep", [line["item"]["body"] for line in lines if line["kind"] == "message"])

        ask = ada.get_by_role("button", name="Delete my data and leave")
        ask.click()
        expect(ada.get_by_role("dialog", name="Delete your data")).to_contain_text("cannot be undone")
        expect(ada.get_by_role("button", name="Cancel")).to_be_focused()
        self.picture(ada, "deleting")
        ada.keyboard.press("Escape")
        expect(ask).to_be_focused()
        ask.click()
        ada.get_by_role("button", name="Delete and leave").click()
        expect(ada.get_by_label("Pairing code")).to_be_visible()
        self.assertNotEqual("Ada", ada.get_by_label("Your name").input_value())
        # The page learns that it is signed out before the answer that takes its cookie.
        until(lambda: ada.context.cookies() == [], "the cookie is still there")
        expect(ben.locator(".roomhead")).to_contain_text("No one is connected")
        expect(self.message(ben, "Something to keep")).to_be_visible()
