"""The members of a large session: a page of them is followed, and the others when they are scrolled to or searched."""

from stage import Stage, expect
from test_scale import Crowd

CROWD = 230
ROWS = "#members .people > li"
SCROLL = "() => { const panel = document.querySelector('#members'); panel.scrollTop = panel.scrollHeight }"


class Joining(Crowd):
    """People of clients of their own, each in a session that everybody may join."""

    def __init__(self, gateway, count):
        self.sessions = []
        super().__init__(gateway, count)

    def add(self, name, token):
        peer = self.ask("POST", "/v1/peers", {"displayName": name}, token)["id"]
        session = {"peer": peer, "adhoc": "adhoc", "history": {"keep": "memory"}}
        self.sessions.append((self.ask("POST", "/v1/sessions", session, token)["id"], token))

    def leave(self):
        session, token = self.sessions.pop(0)
        self.ask("DELETE", f"/v1/sessions/{session}", None, token)


class Members(Stage):
    gateway_count = 1

    def test_members_of_a_large_session_are_counted_scrolled_through_and_searched(self):
        gateway = self.gateways[0]
        ada = self.enter(gateway, "Ada")
        frames = []
        ada.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(frame)))
        ada.reload()
        self.let_everybody_join(ada)
        crowd = Joining(gateway, CROWD)
        count = ada.locator(".roomhead > .row > .stack > .hint")
        expect(count).to_contain_text(f"{CROWD} people connected", timeout=60_000)
        expect(ada.locator(".roomhead h2")).to_contain_text(f"{CROWD - 3} more")
        # The page follows the first members alone, each in two states at most.
        told = sum(text.count('"carriedBy"') for text in frames if isinstance(text, str))
        self.assertLessEqual(told, 2 * 100 + 50)
        ada.get_by_role("button", name="Members").click()
        rows = ada.locator(ROWS)
        expect(rows.first).to_have_attribute("aria-setsize", str(CROWD))
        self.assertLessEqual(rows.count(), 150)
        last = f"Person {CROWD:04}"
        ada.wait_for_function(f"""([last, rows]) => {{
          ({SCROLL})()
          return [...document.querySelectorAll(rows)].some((row) => row.textContent.includes(last))
        }}""", arg=[last, ROWS], polling=100)
        self.picture(ada, "members-scrolled")
        search = ada.get_by_role("searchbox", name="Search members")
        search.fill("PERSON 012")
        expect(rows).to_have_count(10)
        expect(rows.first).to_contain_text("Person 012")
        search.fill("nobody")
        expect(ada.locator("#members .empty")).to_have_text("No member is called “nobody”.")
        search.fill("")
        expect(rows.first).to_contain_text("Person 0001")
        crowd.leave()
        expect(count).to_contain_text(f"{CROWD - 1} people connected")
        # Former members fill the first page; those who are there are shown all the same.
        ada.reload()
        expect(count).to_contain_text(f"{CROWD - 1} people connected")
        for _ in range(110):
            crowd.leave()
        heading = ada.locator(".roomhead h2")
        for change in (lambda: None, lambda: self.open_and_close_members(ada), ada.reload):
            change()
            expect(count).to_contain_text(f"{CROWD - 111} people connected")
            expect(heading).to_contain_text("Person 01")
            expect(heading).to_contain_text(f"{CROWD - 111 - 3} more")
        self.say(ada, "Hello, all")
        expect(self.message(ada, "Hello, all")).to_be_visible()

    def open_and_close_members(self, page):
        button = page.get_by_role("button", name="Members")
        button.click()
        page.wait_for_function(f"([rows]) => {{ ({SCROLL})(); return document.querySelectorAll(rows).length > 0 }}", arg=[ROWS])
        page.wait_for_function(f"([name]) => {{ ({SCROLL})(); return document.querySelector('#members').textContent.includes(name) }}", arg=[f"Person {CROWD:04}"], polling=100)
        button.click()
