"""The gateway's Wi-Fi radios: networks without an access point, the way into them, and the devices in them."""

import json
import os
import time
import unittest

from gateway import ROOT
from guests import OperatorStage
from radios import GROUP, PIXEL, Radios, problem, radio
from stage import DESKTOP, PHONE, catalogue, expect
from test_timeline import APP, WITHOUT_BROWSER, run


class RadioTexts(unittest.TestCase):
    def test_each_rule_of_the_gateway_has_a_text_in_each_language(self):
        with open(os.path.join(ROOT, "Sources", "Nearby", "Radio", "RadioError.swift"), encoding="utf-8") as file:
            rules = {line.split('rule: "')[1].split('"')[0] for line in file if 'rule: "' in line}
        self.assertIn("netdev", rules)
        texts = catalogue("en")
        told = {key.split(".")[2] for key in texts if key.startswith("problem.") and key.count(".") == 2}
        self.assertEqual(set(), rules - told)

    def test_refusal_is_told_in_german_by_its_rule(self):
        said = run("words.js", f"""
            {WITHOUT_BROWSER}
            const {{ useLanguage }} = await import('{APP}/texts.js')
            await useLanguage('de')
            console.log(JSON.stringify(all.sentence({json.dumps(problem("forbidden", 403, "netdev"))})))
        """)
        self.assertEqual(catalogue("de")["problem.forbidden.netdev"], said)


class RadiosOfGateway(OperatorStage):
    gateway_names = ["Office"]

    def begin_with(self, radios, size=PHONE, dark=False):
        page = self.tab(size, dark)
        # Tests let time pass; by itself it goes on as ever.
        page.clock.install(time=time.time())
        page.goto(self.gateway.url)
        radios.serve(page)
        self.come_in(page, self.gateway.code, "Olga")
        self.turn(page, "Gateway")
        return page, page.get_by_role("region", name="Wi-Fi without an access point")

    def tearDown(self):
        for context in self.contexts:
            for page in context.pages:
                page.unroute_all(behavior="wait")
        super().tearDown()

    @staticmethod
    def answer_question(page, title, answer):
        page.get_by_role("dialog", name=title).get_by_role("button", name=answer, exact=True).click()

    def test_group_is_started_joined_by_code_or_by_hand_and_ended_after_a_question(self):
        radios = Radios(radio())
        page, part = self.begin_with(radios)
        expect(part.get_by_role("listitem")).to_contain_text("Not in use · can make: group and mesh")
        part.get_by_role("button", name="Start a group").click()
        expect(part.get_by_role("heading", name="Join this group")).to_be_focused()
        expect(part).to_contain_text("PXsgN9is")
        expect(part.get_by_role("link")).to_have_attribute("href", "http://192.168.49.1:7777")
        expect(part).to_contain_text("0 devices are on it")
        picture = part.get_by_role("img", name="QR code that joins the Wi-Fi “DIRECT-xy-vicinity”")
        self.assertTrue(picture.evaluate("(e) => e.decode().then(() => e.naturalWidth > 0)"))
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        for button, text in [("name", GROUP["name"]), ("password", GROUP["password"]), ("address", GROUP["url"])]:
            part.get_by_role("button", name=f"Copy {button}").click()
            expect(part.get_by_role("button", name="Copied")).to_be_visible()
            self.assertEqual(text, page.evaluate("navigator.clipboard.readText()"))
            page.clock.run_for(2_000)
        # Names are those that devices give themselves.
        radios.radios[0]["network"] = {
            **GROUP, "members": 2, "stations": [PIXEL, {"hardwareAddress": "02:00:00:00:01:00", "name": "<img src=x onerror=alert(1)>"}]}
        page.clock.run_for(6_000)
        expect(part.get_by_role("status").filter(has_text="on it")).to_have_text("2 devices are on it")
        rows = part.locator(".rows li")
        expect(rows.first).to_contain_text("Pixel-7")
        expect(rows.first).to_contain_text("192.168.49.10 · 9e:2a:00:01:ff:07")
        expect(rows.last).to_contain_text("<img src=x onerror=alert(1)>")
        part.scroll_into_view_if_needed()
        self.picture(page, "radios-group-phone")
        part.get_by_role("button", name="End network").click()
        expect(page.get_by_role("dialog")).to_contain_text("2 devices lose their connection.")
        self.answer_question(page, "End the network “DIRECT-xy-vicinity”?", "Cancel")
        part.get_by_role("button", name="End network").click()
        self.answer_question(page, "End the network “DIRECT-xy-vicinity”?", "End network")
        expect(part.get_by_role("button", name="Start a group")).to_be_visible()
        expect(part.get_by_role("img")).to_have_count(0)
        self.assertEqual([{"kind": "group"}, {"end": "wlan0"}], radios.wishes)

    def test_radio_in_use_is_forced_after_a_question_alone(self):
        radios = Radios(radio(state="connected", isManaged=True))
        page, part = self.begin_with(radios)
        part.get_by_role("button", name="Start a group").click()
        dialog = page.get_by_role("dialog", name="Use wlan0 all the same?")
        expect(dialog).to_contain_text("That connection may drop.")
        expect(dialog).to_contain_text("NetworkManager manages wlan0")
        self.picture(page, "radios-forcing-phone")
        dialog.get_by_role("button", name="Cancel").click()
        self.assertEqual([], radios.wishes)
        part.get_by_role("button", name="Start a group").click()
        self.answer_question(page, "Use wlan0 all the same?", "Use it")
        expect(part.get_by_role("heading", name="Join this group")).to_be_visible()
        self.assertEqual([{"kind": "group", "force": True}], radios.wishes)

    def test_radio_that_was_connected_since_the_page_looked_is_asked_about(self):
        radios = Radios(radio())
        radios.refusals = [problem("conflict", 409, "radioConnected")]
        page, part = self.begin_with(radios)
        part.get_by_role("button", name="Start a group").click()
        expect(page.get_by_role("dialog")).not_to_contain_text("NetworkManager")
        self.answer_question(page, "Use wlan0 all the same?", "Use it")
        expect(part.get_by_role("heading", name="Join this group")).to_be_visible()
        self.assertEqual([{"kind": "group"}, {"kind": "group", "force": True}], radios.wishes)

    def test_mesh_is_joined_by_name_with_a_password_or_without(self):
        radios = Radios(radio(kinds=["mesh"]), radio("wlan1", kinds=["mesh"]))
        page, part = self.begin_with(radios, DESKTOP)
        expect(part.get_by_role("button", name="Start a group")).to_have_count(0)
        first, second = part.get_by_role("listitem").filter(has_text="wlan0"), part.get_by_role("listitem").filter(has_text="wlan1")
        first.get_by_role("button", name="Join a mesh").click()
        name = first.get_by_label("Name of the mesh")
        expect(name).to_be_focused()
        expect(name).to_have_value("vicinity")
        name.fill("workshop")
        first.get_by_label("Password").fill("short")
        first.get_by_role("button", name="Join", exact=True).click()
        self.assertEqual([], radios.wishes)
        first.get_by_label("Password").fill("a long secret")
        first.get_by_role("button", name="Join", exact=True).click()
        expect(first.get_by_role("heading", name="Join this mesh")).to_be_visible()
        expect(first).to_contain_text("a long secret")
        expect(first.get_by_role("img")).to_have_count(0)
        expect(first.get_by_role("button", name="Copy address")).to_have_count(0)
        second.get_by_role("button", name="Join a mesh").click()
        second.get_by_role("button", name="Join", exact=True).click()
        expect(second.get_by_role("heading", name="Join this mesh")).to_be_visible()
        expect(second.get_by_role("button", name="Copy password")).to_have_count(0)
        self.assertEqual([{"kind": "mesh", "name": "workshop", "password": "a long secret"}, {"kind": "mesh", "name": "vicinity"}], radios.wishes)

    def test_each_obstacle_is_told_with_its_remedy(self):
        radios = Radios(radio(state="blocked"), radio("wlan1", kinds=[]), radio("wlan2", state="network", network={
            **GROUP, "isAbandoned": True, "password": None, "code": None, "url": None}))
        page, part = self.begin_with(radios, DESKTOP)
        expect(part.get_by_role("listitem").first).to_contain_text("sudo rfkill unblock wlan")
        expect(part).to_contain_text("can make no network of its own")
        expect(part).to_contain_text("The program that made this network is gone.")
        for name in ("Start a group", "Join a mesh"):
            expect(part.get_by_role("button", name=name)).to_have_count(0)
        radios.radios = [radio(kinds=None)]
        radios.problem = problem("forbidden", 403, "netdev")
        page.clock.run_for(6_000)
        expect(part.get_by_role("alert")).to_contain_text("The gateway is not allowed to use the Wi-Fi of its computer.")
        expect(part).to_contain_text("sudo usermod --append --groups netdev vicinity")
        expect(part.get_by_role("button")).to_have_count(0)
        # Starting may start the program.
        radios.problem = problem("unavailable", 503, "wpaSupplicant")
        page.clock.run_for(16_000)
        expect(part).to_contain_text("sudo systemctl start wpa_supplicant")
        radios.refusals = [problem("unsupported", 422, "driver")]
        part.get_by_role("button", name="Start a group").click()
        expect(part).to_contain_text("This radio cannot do that.")
        radios.radios, radios.problem = [], None
        page.clock.run_for(16_000)
        expect(part).to_contain_text("The gateway’s computer has no Wi-Fi.")
        expect(part.get_by_role("alert")).to_have_count(0)

    def test_radios_are_asked_for_at_a_calm_rate_and_only_where_they_are_looked_at(self):
        radios = Radios(radio(state="network", network=GROUP))
        page, part = self.begin_with(radios)
        expect(part).to_contain_text("0 devices are on it")
        self.assertIn(self.looks_of_half_a_minute(page, radios), range(3, 8))
        self.turn(page, "Nearby")
        page.clock.run_for(1_000)
        # One may have been on its way.
        self.assertLessEqual(self.looks_of_half_a_minute(page, radios), 1)

    @staticmethod
    def looks_of_half_a_minute(page, radios):
        before = radios.looks
        # Answers come between the steps.
        for _ in range(30):
            page.clock.run_for(1_000)
        return radios.looks - before
