"""Settings that an admin changes while the gateway runs."""

import json
import os

from gateway import ROOT, Gateway
from guests import OperatorStage
from stage import DESKTOP, PHONE, expect


class Settings(OperatorStage):
    def test_admin_changes_settings_and_others_see_the_name(self):
        gateway = Gateway("Shed", more=["--code-role", "admin"])
        self.addCleanup(gateway.close)
        page = self.page(gateway, DESKTOP)
        self.come_in(page, gateway.code, "Olga")
        self.turn(page, "Gateway")
        form = page.locator("form").filter(has_text="Name of the gateway")
        expect(form.get_by_label("Name of the gateway")).to_have_value("Shed")
        form.get_by_label("Name of the gateway").fill("Garden shed")
        form.get_by_label("Names per device").fill("2")
        for name, value in (("Files per session", "50"), ("GB of one file", "0.25"), ("GB of messages", "0.005")):
            form.get_by_label(name).fill(value)
        form.get_by_label("Log").select_option("debug")
        form.get_by_role("button", name="Save").click()
        expect(form.get_by_role("status")).to_have_text("Saved.")
        expect(page.get_by_role("heading", name="Garden shed")).to_be_visible()
        expect(page.get_by_role("region", name="Audit log")).to_contain_text("gateway · name, logLevel, peersPerClient, ")
        self.assertEqual(
            {"peersPerClient": 2, "resourcesPerSession": 50, "resourceBytes": 250_000_000, "historyBytesPerClient": 5_000_000},
            page.evaluate("fetch('/v1/gateway').then((a) => a.json())")["settings"]["changed"]["limits"])
        page.get_by_role("heading", name="Settings").scroll_into_view_if_needed()
        self.picture(page, "settings")
        with open(os.path.join(ROOT, "openapi", "vicinity.json"), encoding="utf-8") as file:
            may = json.load(file)["components"]["schemas"]["GatewayPatch"]["properties"]["limits"]["properties"]
        self.assertEqual(
            {f"setting-{name}" for name in may}, set(form.get_by_role("spinbutton").evaluate_all("(all) => all.map((one) => one.id)")))
        form.get_by_label("Name of the gateway").fill(" ")
        form.get_by_role("button", name="Save").click()
        expect(form.get_by_role("alert")).to_be_visible()
        other = self.page(gateway, PHONE)
        expect(other.get_by_role("heading", name="Garden shed")).to_be_visible()
        page.reload()
        expect(page.get_by_role("heading", name="Garden shed")).to_be_visible()
        expect(form.get_by_label("Names per device")).to_have_value("2")
