"""A thousand people nearby and a long session: the page has few elements, hardly a long task, and does not grow."""

import os
import re
import time

from stage import Stage, expect
from test_pace import LongTasks, Talker

CROWD = 1000
# A client may have 64.
PEERS_PER_CLIENT = 63
MESSAGES_BEFORE = 10_000
MESSAGES_PER_SECOND = 200
# The share of that rate that is sent and drawn at least: the last message is some hundredths of a second behind the minute.
RATE_MIN = 0.98
# How far the page may be behind what was said, in seconds.
LAG_MAX = 3
# `DASHBOARD_SOAK_MINUTES=20 Tests/Dashboard/run scale` is a soak.
MINUTES = int(os.environ.get("DASHBOARD_SOAK_MINUTES", "1"))
ROWS_MAX = 150
ELEMENTS_MAX = 4000
LONG_TASKS_MAX = 5 * MINUTES
# Growth of the heap in all of that time: the page keeps the latest 10,000 messages.
GROWTH_MAX = 1.25
ROWS = ".nearby > .people > li"
# The number of the latest message that is drawn, and when, in seconds since 1970; once a second.
WATCH = """() => {
  window.drawn = []
  setInterval(() => {
    const numbers = [...document.querySelectorAll('.message .text')].map((e) => Number(/^message (\\d+):/.exec(e.textContent)?.[1] ?? 0))
    drawn.push([(performance.timeOrigin + performance.now()) / 1000, Math.max(...numbers.slice(-20))])
  }, 1000)
}"""
SCROLL = "(place) => { const side = document.querySelector('.side'); side.scrollTop = place * side.scrollHeight }"


class Crowd:
    """Many people at a gateway, whom clients of their own advertise."""

    def __init__(self, gateway, count):
        self.gateway = gateway
        self.tokens = []
        for first in range(0, count, PEERS_PER_CLIENT):
            token = self.ask("POST", "/v1/pairings", {"code": gateway.new_code(), "name": "crowd"}, None)["token"]
            self.tokens.append(token)
            for number in range(first, min(count, first + PEERS_PER_CLIENT)):
                self.add(f"Person {number + 1:04}", token)

    def add(self, name, token):
        peer = self.ask("POST", "/v1/peers", {"displayName": name}, token)["id"]
        self.ask("POST", "/v1/advertisers", {"peer": peer, "serviceType": "adhoc", "invitations": "ask"}, token)

    def ask(self, method, path, body, token):
        own, self.gateway.token = self.gateway.token, token
        try:
            return self.gateway.ask(method, path, body)
        finally:
            self.gateway.token = own


class Scale(Stage):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.crowd = Crowd(cls.gateways[1], CROWD)

    def sign_out(self):
        for gateway in self.gateways:
            gateway.sign_others_out(kept=("tests", "crowd"))

    def test_thousand_people_are_few_rows_through_which_one_scrolls_and_searches(self):
        ada = self.enter(self.gateways[0], "Ada")
        expect(ada.locator(".count")).to_have_text("1,000 people nearby", timeout=60_000)
        rows = ada.locator(ROWS)
        expect(rows.first).to_contain_text("Person 0001")
        expect(rows.first).to_have_attribute("aria-setsize", "1000")
        expect(rows.first).to_have_attribute("aria-posinset", "1")
        self.assertLessEqual(rows.count(), ROWS_MAX)
        self.picture(ada, "scale-nearby")
        # A note that is being written stays with its row.
        self.neighbour(ada, "Person 0003").get_by_role("button", name="Invite").click()
        self.neighbour(ada, "Person 0003").get_by_label("Add a note").fill("Tea?")
        self.scroll_to(ada, 0.5, "Person 0500")
        expect(self.neighbour(ada, "Person 0003")).to_have_count(0)
        self.assertLessEqual(rows.count(), ROWS_MAX)
        self.assertGreater(rows.count(), 10)
        # An arrival above the window moves no row, nor does the round trip to those in it once it is known.
        visible = "() => [...document.querySelectorAll('.nearby > .people > li')].map((row) => [row.querySelector('strong').textContent, Math.round(row.getBoundingClientRect().top)]).filter(([, top]) => top > 0 && top < innerHeight)"
        before = ada.evaluate(visible)
        self.assertGreater(len(before), 5)
        self.crowd.add("Aaron", self.crowd.tokens[-1])
        expect(ada.locator(".count")).to_have_text("1,001 people nearby")
        for name, _ in before[1:-1]:
            expect(self.neighbour(ada, name).locator(".reach")).not_to_be_empty()
        self.assertEqual(before, ada.evaluate(visible))
        self.scroll_to(ada, 1, "Person 1000")
        expect(self.neighbour(ada, "Person 1000")).to_have_attribute("aria-posinset", "1001")
        self.scroll_to(ada, 0, "Aaron")
        expect(self.neighbour(ada, "Person 0003").get_by_label("Add a note")).to_have_value("Tea?")
        ada.get_by_role("searchbox", name="Search").fill("person 077")
        expect(rows).to_have_count(10)
        expect(rows.first).to_contain_text("Person 0770")
        self.assertLess(ada.locator("*").count(), ELEMENTS_MAX)

    def scroll_to(self, page, place, name):
        """Scrolls in steps, as heights become known."""
        page.wait_for_function(f"""([place, name]) => {{
          ({SCROLL})(place)
          return [...document.querySelectorAll('{ROWS}')].some((row) => row.textContent.includes(name))
        }}""", arg=[place, name], polling=100)

    def test_page_has_five_long_tasks_at_most_while_200_messages_come_each_second_for_a_minute(self):
        ada = self.enter(self.gateways[0], "Ada")
        ben = self.enter(self.gateways[1], "Ben")
        expect(ada.locator(".count")).to_have_text("1,001 people nearby", timeout=60_000)
        ada.get_by_role("searchbox", name="Search").fill("Ben")
        self.meet(ada, "Ada", ben, "Ben")
        self.turn(ada, "Nearby")
        ada.get_by_role("searchbox", name="Search").fill("")
        talker = Talker(self.gateways[1], ben)
        # A page of Ben's would draw, too.
        ben.close()
        talker.talk(MESSAGES_BEFORE, 2000)
        talker.say("That was before.")
        expect(self.message(ada, "That was before.")).to_be_visible(timeout=60_000)
        session = ada.context.new_cdp_session(ada)
        ada.evaluate(WATCH)
        long_tasks, heaps = [], [self.heap(session)]
        # A trace for each minute, since a longer one is large.
        for minute in range(MINUTES):
            before = self.received()
            with LongTasks(ada) as ones:
                ada.evaluate("drawn.length = 0")
                begin = time.time()
                rate = talker.talk(MESSAGES_PER_SECOND * 60, MESSAGES_PER_SECOND)
                drawn = ada.evaluate("drawn")
                self.assertEqual([], talker.faults)
                talker.say(f"That was minute {minute + 1}.")
                expect(self.message(ada, f"That was minute {minute + 1}.")).to_be_visible(timeout=60_000)
            long_tasks += ones.times
            heaps.append(self.heap(session))
            elements = ada.locator("*").count()
            lag = max(moment - begin - number / MESSAGES_PER_SECOND for moment, number in drawn)
            print(f"{rate:.0f} messages/s, drawn {lag:.1f} s later at most, for a minute beside {CROWD} people: long tasks of {ones.times} ms, "
                  f"the longest of {ones.longest} ms; {elements} elements; heap {heaps[-2] / 1e6:.1f} MB, then {heaps[-1] / 1e6:.1f} MB")
            self.assertGreaterEqual(rate, RATE_MIN * MESSAGES_PER_SECOND)
            self.assertEqual(MESSAGES_PER_SECOND * 60 + 1, self.received() - before)
            self.assertGreaterEqual(len(drawn), RATE_MIN * 60 - LAG_MAX, "the page was looked at each second")
            self.assertLess(lag, LAG_MAX)
            self.assertLess(elements, ELEMENTS_MAX)
        self.picture(ada, "scale")
        self.assertLessEqual(len(long_tasks), LONG_TASKS_MAX)
        self.assertLess(heaps[-1] / heaps[0], GROWTH_MAX)

    def received(self):
        """How many messages of sessions have come to Ada's gateway."""
        metrics = self.gateways[0].ask("GET", "/metrics").decode()
        return sum(int(count) for count in re.findall(r'^vicinity_messages_total\{[^}]*"incoming"[^}]*"reliable"[^}]*\} (\d+)', metrics, re.M))

    @staticmethod
    def heap(session):
        session.send("HeapProfiler.collectGarbage")
        return session.send("Runtime.getHeapUsage")["usedSize"]
