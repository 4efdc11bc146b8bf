"""The gateway's page: its health, codes with a QR, devices, the network check, charts; and the console."""

import json
import re
import unittest

from guests import OperatorStage
from stage import PHONE, expect
from test_timeline import APP, WITHOUT_BROWSER, run

# Lists of the page, with an item in each.
LISTS = """
  const of = (...items) => ({ items })
  const named = (id, displayName, more) => ({ id, displayName, ...more })
  const home = {
    about: { host: 'own', name: 'Stage' }, nearby: [named('p2', 'Ben')], peers: of(named('p1', 'Anna')), clients: of({ id: 'c1', name: 'phone' }),
    codes: of({ id: 'k1', label: 'Wall' }), invitations: of(named('i1', 'Cara')), advertisers: of({ id: 'a1', peer: 'p1', serviceType: 'chat' }),
    browsers: of({ id: 'b1', peer: 'p1', serviceType: 'chat' }), sessions: of({ id: 's1', peer: 'p1' }, { id: 's2', peer: 'p1' }),
    events: of({ about: '/v1/peers/gone', displayName: 'Zora' }, { about: '/v1/sessions/s1/streams/t1', name: 'voice' }),
    rooms: [{
      id: 's1', present: ['Ben'], members: of(named('m1', 'Ben', { peer: 'p2', carriedBy: 'h1' })), resources: of({ id: 'r1', name: 'a.png' }),
      messages: of(named('x1', 'Ben')), comparisons: of(named('m1', 'Ben')), certificates: of(named('d1', 'Dora')),
    }],
  }
"""


class KnownNames(unittest.TestCase):
    def test_names_stand_for_the_ids_of_each_collection(self):
        paths = {
            "/v1/peers/p1": "peers Anna", "/v1/browsers/b1/found/p2": "browsers Anna · chat › found Ben",
            "/v1/advertisers/a1": "advertisers Anna · chat", "/v1/invitations/i1": "invitations Cara", "/v1/clients/c1": "clients phone",
            "/v1/pairing-codes/k1": "pairing-codes Wall", "/v1/sessions/s1/members/m1": "sessions Ben › members Ben",
            "/v1/sessions/s1/streams/t1": "sessions Ben › streams voice", "/v1/sessions/s1/resources/r1": "sessions Ben › resources a.png",
            "/v1/sessions/s1/messages/x1": "sessions Ben › messages Ben", "/v1/sessions/s1/comparisons/m1": "sessions Ben › comparisons Ben",
            "/v1/sessions/s1/certificates/d1": "sessions Ben › certificates Dora", "/v1/trusted-peers/p2": "trusted-peers Ben",
            "/v1/sessions/s2": "sessions Anna", "/v1/peers/gone": "peers Zora", "/v1/gateway": "gateway", "/v1/sessions/s1/members": "sessions Ben › members",
        }
        said = run("known-names.js", f"""
            {LISTS}
            const paths = {json.dumps(list(paths))}
            {WITHOUT_BROWSER}
            const {{ useLanguage }} = await import('{APP}/texts.js')
            await useLanguage('en')
            const known = all.knownNames(home)
            console.log(JSON.stringify([paths.map((path) => all.subject(known, path)), known.get('h1'), known.get('own')]))
        """)
        self.assertEqual([list(paths.values()), "Ben", "Stage"], said)


class GatewayPage(OperatorStage):
    gateway_names = ["Office"]

    def test_operator_sees_health_codes_with_qr_devices_and_the_audit_log(self):
        page = self.page(self.gateway)
        page.route("**/v1/clients/*/queues", self.with_queue)
        self.come_in(page, self.gateway.code, "Olga")
        # A code for several devices, whose access ends with it.
        code = self.code_of(page, uses=2, seconds=3600, label="Exhibition")
        self.gateway.ask("POST", "/v1/pairings", {"code": code, "name": "Screen"})
        self.turn(page, "Gateway")
        expect(page.locator(".health")).to_contain_text("Everything works")
        page.get_by_label("Label").fill("Projector")
        page.get_by_role("button", name="Make a code").click()
        picture = page.get_by_role("img", name="QR code of this link")
        expect(picture).to_be_visible()
        self.assertTrue(picture.evaluate("(e) => e.decode().then(() => e.naturalWidth > 0)"))
        expect(page.locator(".rows li").filter(has_text="Projector")).to_contain_text("Member")
        own = page.locator(".rows li").filter(has_text="Olga (this browser)")
        expect(own).to_contain_text("last seen")
        expect(own).to_contain_text("58.5 kB waiting to be read")
        expect(own).not_to_contain_text("access ends")
        screen = page.get_by_role("region", name="Connected devices").get_by_role("listitem").filter(has_text="Screen")
        expect(screen).to_contain_text(re.compile(r"access ends \w+ \d+, \d{4}"))
        expect(page.locator(".rows li").filter(has_text="Exhibition")).to_contain_text("valid for another 60 min")
        log = page.get_by_role("region", name="Audit log")
        expect(log).to_contain_text("Connected")
        expect(log).to_contain_text("Screen · member")
        expect(log).not_to_contain_text("clients")
        page.get_by_text("Vicinity is free software").click()
        expect(page.locator(".licences div").filter(has_text="libqrencode")).to_contain_text("LGPL-2.1-or-later")
        self.picture(page, "gateway-page")
        page.unroute_all(behavior="wait")

    @staticmethod
    def with_queue(route):
        """Some bytes wait in each WebSocket, as where a device is slow."""
        answer = route.fetch()
        queues = answer.json()
        for socket in queues.get("sockets", []):
            socket["queuedBytes"] = 58_500
        route.fulfill(response=answer, json=queues)

    def test_network_check_tells_findings_and_cures(self):
        page = self.operator(PHONE, dark=True)
        page.get_by_role("button", name="Check now").click()
        expect(page.locator(".finding").first).to_be_visible()
        expect(page.get_by_role("region", name="Network check")).to_contain_text("Checked at")
        page.locator(".findings").scroll_into_view_if_needed()
        self.picture(page, "network-check-phone-dark")

    def test_charts_show_the_past_that_the_gateway_has_kept(self):
        page = self.page(self.gateway)
        self.have_past(page)
        self.come_in(page, self.gateway.code, "Olga")
        self.turn(page, "Gateway")
        chart = page.locator(".charts .card").filter(has_text="Messages")
        expect(chart).to_contain_text("71.9/s")
        expect(chart.get_by_role("img")).to_have_attribute("aria-label", "Messages in, out: 71.9/s · 71.9/s, max 71.9/s")
        chart.get_by_role("img").hover()
        # The middle of the hour: its time stands in place of the maximum, and its values in place of the latest ones.
        expect(chart.locator(".hint")).to_have_text(re.compile(r"^\d+:\d\d\s[AP]M$"))
        expect(chart.locator("strong")).to_have_text(re.compile(r"^[\d.]+/s · [\d.]+/s$"))
        expect(chart.locator("strong")).not_to_have_text("71.9/s · 71.9/s")
        page.locator(".charts").scroll_into_view_if_needed()
        self.picture(page, "charts")
        page.get_by_role("heading", name="The last hour").hover()
        expect(chart.locator(".hint")).to_have_text("max 71.9/s")
        expect(chart.locator("strong")).to_have_text("71.9/s · 71.9/s")
        page.unroute_all(behavior="wait")

    def test_p_app_5_console_says_names_pauses_filters_and_saves(self):
        page = self.operator()
        self.turn(page, "Console")
        expect(page.locator(".lines")).to_contain_text("peers Olga")
        page.get_by_role("button", name="Pause").click()
        token = self.gateway.ask("POST", "/v1/pairings", {"code": self.code_of(page), "name": "program"})["token"]
        self.gateway.token = token
        self.gateway.ask("POST", "/v1/peers", {"displayName": "Zora"})
        expect(page.get_by_role("status").filter(has_text="Paused")).to_contain_text("new event")
        expect(page.locator(".lines")).not_to_contain_text("program")
        page.get_by_role("button", name="Resume").click()
        expect(page.locator(".lines")).to_contain_text("program")
        page.get_by_label("Filter").fill("paired")
        expect(page.locator(".lines li")).to_have_count(2)
        self.picture(page, "console")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save").click()
        with open(download.value.path(), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual(["paired", "paired"], [line["event"] for line in lines])
        self.assertEqual("clients program", lines[-1]["subject"])
        # The same lines are what is copied.
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        copied = page.evaluate("navigator.clipboard.readText()")
        self.assertEqual(lines, [json.loads(line) for line in copied.splitlines()])

    def test_console_has_messages_and_copies_on_a_page_without_https(self):
        page = self.page(self.gateway, script="Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        self.come_in(page, self.gateway.code, "Olga")
        ben = self.page(self.gateway)
        self.come_in(ben, self.code_of(page), "Ben")
        self.meet(page, "Olga", ben, "Ben")
        self.say(ben, "Hello")
        self.turn(page, "Console")
        message = page.locator(".lines li").filter(has_text="message")
        expect(message).to_contain_text("Ben · mode: reliable · size: 5")
        expect(message.locator(".subject")).to_have_text("sessions Ben › messages Ben")
        page.get_by_label("Filter").fill("messages")
        expect(page.locator(".lines li")).to_have_count(1)
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("button", name="Copied")).to_be_focused()
        self.assertEqual(["message"], [json.loads(line)["event"] for line in self.pasted(page).splitlines()])
        # The link of a code, too, and that of guests, which is in a dialog.
        self.turn(page, "Gateway")
        page.get_by_role("button", name="Make a code").click()
        page.get_by_role("button", name="Copy link").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        self.assertEqual(page.locator(".newcode a").get_attribute("href"), self.pasted(page))
        page.locator(".way[data-way=sessions]").click()
        page.get_by_role("button", name="Members").click()
        page.get_by_role("button", name="Invite guests").click()
        dialog = page.get_by_role("dialog", name="Invite guests")
        dialog.get_by_role("button", name="Make a code").click()
        dialog.get_by_role("button", name="Copy link").click()
        expect(dialog.get_by_role("button", name="Copied")).to_be_visible()
        link = dialog.get_by_role("link").get_attribute("href")
        dialog.get_by_role("button", name="Close").click()
        self.assertEqual(link, self.pasted(page))

    def pasted(self, page):
        """The text that is pasted into the message."""
        page.locator(".way[data-way=sessions]").click()
        box = page.get_by_role("textbox", name="Message")
        box.press("Control+V")
        text = box.input_value()
        box.fill("")
        return text
