"""Settings that an admin changes while the gateway runs."""

from gateway import Gateway
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
        form.get_by_label("Log").select_option("debug")
        form.get_by_role("button", name="Save").click()
        expect(form.get_by_role("status")).to_have_text("Saved.")
        expect(page.get_by_role("heading", name="Garden shed")).to_be_visible()
        expect(page.get_by_role("region", name="Audit log")).to_contain_text("gateway · name, logLevel, peersPerClient · by a device")
        page.get_by_role("heading", name="Settings").scroll_into_view_if_needed()
        self.picture(page, "settings")
        form.get_by_label("Name of the gateway").fill(" ")
        form.get_by_role("button", name="Save").click()
        expect(form.get_by_role("alert")).to_be_visible()
        other = self.page(gateway, PHONE)
        expect(other.get_by_role("heading", name="Garden shed")).to_be_visible()
        page.reload()
        expect(page.get_by_role("heading", name="Garden shed")).to_be_visible()
        expect(form.get_by_label("Names per device")).to_have_value("2")
