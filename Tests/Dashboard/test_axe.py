"""axe finds no fault in any view: in light and dark, on a phone and on desks up to 2560 pixels, in each language, from either side.

In each view the keyboard reaches all that can be used, and nothing moves for those who do not want that. Pictures of all are kept.
"""

import importlib.util
import os

from certificates import Certificate, advertise_with
from guests import OperatorStage, add_plain
from stage import expect, own_address

AXE = os.path.join(os.path.dirname(importlib.util.find_spec("axe_playwright_python").origin), "axe.min.js")
SIZES = {
    "phone": {"width": 320, "height": 640}, "desktop": {"width": 1600, "height": 900}, "large": {"width": 2560, "height": 1440},
}
RUN = """(rules) => axe.run(document, { resultTypes: ['violations'], ...(rules ? { runOnly: rules } : {}) }).then(({ violations }) => violations.map(
  ({ id, impact, nodes }) => `${impact}: ${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`))"""
# The rules whose result is another one in other colours.
RULES_OF_COLOUR = ["color-contrast", "link-in-text-block"]
# Elements that scroll, or are cut on purpose, may reach out of the window.
OUTSIDE = """() => [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && !e.closest('.scroller, .rooms, .cut, svg, .thumbs'))
  .filter((e) => { const r = e.getBoundingClientRect(); return r.width && (r.right > innerWidth + 1 || r.left < -1) })
  .map((e) => `${e.tagName}.${e.className}`)"""
MOVING = """() => document.getAnimations().filter((one) => one.playState === 'running')
  .map((one) => `${one.animationName ?? one.transitionProperty} of ${one.effect.target.outerHTML.slice(0, 160)}`)"""
# All that can be used and that the Tab key has not reached yet. Of radio buttons it is one, and behind a question nothing.
COUNT_CONTROLS = """() => {
  const isOther = (e) => e.type === 'radio' && !e.checked && document.querySelector(`input[name="${e.name}"]:checked`)
  const all = (document.querySelector('dialog:modal') ?? document).querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')
  window.unreached = new Set([...all].filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.tabIndex >= 0 && !isOther(e)))
  // In a drawing the Tab key stops once, and arrow keys lead on.
  const isWith = (e, target) => e === target || (e.closest('svg') && e.closest('svg') === target.closest?.('svg'))
  window.reached = ({ target }) => unreached.forEach((e) => isWith(e, target) && unreached.delete(e))
  addEventListener('focusin', reached)
  return unreached.size
}"""
NAME_CONTROLS = """() => {
  removeEventListener('focusin', reached)
  return [...unreached].map((e) => e.outerHTML.slice(0, 160))
}"""
# A session whose members are decided on, as the one that is open.
ASK_IN_SESSION = """async () => {
  const { Vicinity } = await import('/vicinity.js')
  const kept = JSON.parse(localStorage.vicinity)
  const { id } = await new Vicinity(location.origin, { csrf: kept.csrf }).post('/v1/sessions', { peer: kept.peer, trust: 'ask' })
  localStorage.vicinity = JSON.stringify({ ...kept, session: id })
}"""
PAGES = {"docs": "/docs", "docs of the client": "/docs/js", "problems": "/problems"}


class Axe(OperatorStage):
    gateway_count = 2
    gateway_names = ["Stage", "Foyer"]
    # The sizes and colour schemes of a run; the page is used in the first.
    looks = []
    language = "en"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(AXE, encoding="utf-8") as file:
            cls.axe = file.read()

    def open(self, gateway, path="/", **how):
        size, scheme = self.looks[0]
        page = self.page(gateway, SIZES[size], scheme == "dark", language=self.language, right_to_left=self.is_right_to_left, **how)
        if path != "/":
            page.goto(gateway.url + path)
        return page

    def check(self, page, what, part=None, looks=None, by_keys=True):
        """Each look at what is there now; `part` is what has to be in the pictures."""
        if not page.evaluate("'axe' in window"):
            page.evaluate(self.axe)
        checked = set()
        for size, scheme in [*(looks or self.looks), self.looks[0]]:
            page.set_viewport_size(SIZES[size])
            page.emulate_media(color_scheme=scheme)
            if part:
                page.locator(part).first.scroll_into_view_if_needed()
            look = f"{self.name}-{size}-{scheme}"
            if (size, scheme) in checked:
                break
            with self.subTest(f"{what}, {look}"):
                # A picture of the large window takes long, and shows more room around the same.
                if size != "large":
                    self.picture(page, f"axe-{look}-{what.replace(' ', '-')}")
                self.assertEqual([], page.evaluate(RUN, RULES_OF_COLOUR if any(size == one for one, _ in checked) else None))
                self.assertEqual([], page.evaluate(OUTSIDE))
                self.assertEqual([], page.evaluate(MOVING))
            checked.add((size, scheme))
        if by_keys and self.language == "en" and not self.is_right_to_left:
            with self.subTest(f"{what}, by keys"):
                self.assertEqual([], self.unreached(page))

    @staticmethod
    def unreached(page):
        """The controls that the Tab key does not lead to; the focus is where it was after that."""
        focused = page.evaluate_handle("document.activeElement")
        count = page.evaluate(COUNT_CONTROLS)
        # The page itself has the focus once in a round, and so has whatever scrolls.
        for _ in range(3):
            for _ in range(count + 3):
                page.keyboard.press("Tab")
            if page.evaluate("unreached.size") == 0:
                break
        names = page.evaluate(NAME_CONTROLS)
        focused.evaluate("(e) => e.focus()")
        return names

    def look_at_all(self, name, looks, language="en", right_to_left=False):
        self.name, self.looks, self.language, self.is_right_to_left = name, looks, language, right_to_left
        stage, foyer = self.gateways
        ben = self.enter(foyer, "Ben")
        ada = self.open(stage)
        self.have_past(ada)

        def word(text):
            return self.word(ada, text)

        expect(ada.get_by_label(word("Pairing code"))).to_be_visible()
        self.check(ada, "join")
        self.look_at_warning(stage)
        self.come_in(ada, stage.code, "Ada")
        expect(self.neighbour(ada, "Ben")).to_be_visible()
        self.check(ada, "nearby")
        self.neighbour(ada, "Ben").get_by_role("button", name=word("Invite")).click()
        self.check(ada, "inviting")
        ada.keyboard.press("Escape")
        self.look_at_sheet(ada)
        self.invite(ben, "Ada", "Come over")
        expect(ada.locator(".ring")).to_be_visible()
        self.check(ada, "invited")
        self.answer(ada, "Accept")
        self.look_at_session(ada, ben)
        self.look_at_questions(ada)
        ada.goto(f"{stage.url}/#map")
        expect(ada.locator(".person")).to_have_count(2)
        ada.locator(".person").last.focus()
        expect(ada.locator(".details")).to_contain_text("Ben")
        self.check(ada, "map")
        self.turn(ada, "Console")
        expect(ada.locator(".lines li").first).to_be_visible()
        self.check(ada, "console")
        self.look_at_wall(ada)
        self.look_at_certificate(ada)
        self.look_at_gateway(ada)
        ada.unroute_all(behavior="wait")

    def look_at_warning(self, gateway):
        """The explanation before a browser warns of a certificate that it does not know."""
        address = own_address()
        if address is None:
            return
        page = self.open(gateway)
        page.goto(f"http://{address}:{gateway.port}")
        page.get_by_role("link", name=self.word(page, "Open the encrypted page.")).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        self.check(page, "warning explained")
        page.context.close()
        self.contexts.remove(page.context)

    def look_at_sheet(self, page):
        page.get_by_role("button", name=self.word(page, "Stop searching")).click()
        page.get_by_role("button", name=self.word(page, "Invite several people")).click()
        expect(page.get_by_role("dialog").get_by_role("listitem").filter(has_text="Ben")).to_be_visible()
        self.check(page, "gathering")
        page.keyboard.press("Escape")
        page.get_by_role("button", name=self.word(page, "Search again")).click()
        expect(self.neighbour(page, "Ben")).to_be_visible()

    def look_at_session(self, ada, ben):
        def button(name):
            return ada.get_by_role("button", name=self.word(ada, name), exact=True)

        expect(ada.locator(".composer textarea")).to_be_enabled()
        self.say(ada, "Look at https://example.org/")
        expect(self.message(ben, "Look at")).to_be_visible()
        ben.locator(".composer input[type=file]").set_input_files([
            {"name": name, "mimeType": "text/plain", "buffer": b"hello"} for name in ("a.txt", "b.txt")])
        expect(ada.locator(".scroller .fileline")).to_have_count(2)
        ben.get_by_role("textbox", name="Message").press_sequentially("I")
        expect(ada.locator(".typing")).to_be_visible()
        self.check(ada, "session")
        ada.locator(".scroller .fileline").first.get_by_role("button", name=self.word(ada, "Accept")).click()
        expect(ada.locator(".scroller .fileline a.button")).to_have_count(2)
        expect(ada.locator(".scroller .fileline a.button").first).to_be_visible()
        files = ada.locator(".roomhead button[aria-controls=files]")
        files.click()
        self.check(ada, "files")
        files.click()
        button("Members").click()
        self.check(ada, "members")
        button("Verify").click()
        expect(ada.locator(".compared")).to_be_visible()
        self.check(ada, "comparing")
        button("They differ").click()
        expect(ada.locator(".overlay")).to_contain_text(self.word(ada, "The codes differ: someone may be intercepting the connection. Do not share anything confidential."))
        self.check(ada, "codes differ")
        ada.locator(".overlay").get_by_role("button", name=self.word(ada, "Close")).click()
        self.look_at_guests(ada)

    def look_at_guests(self, page):
        page.get_by_role("button", name=self.word(page, "Invite guests")).click()
        dialog = page.get_by_role("dialog", name=self.word(page, "Invite guests"))
        dialog.get_by_role("button", name=self.word(page, "Make a code")).click()
        expect(dialog.get_by_role("img")).to_be_visible()
        self.check(page, "guests")
        dialog.get_by_role("button", name=self.word(page, "Close")).click()

    def look_at_questions(self, page):
        def button(name):
            return page.get_by_role("button", name=self.word(page, name), exact=True)

        button("Leave").click()
        self.check(page, "leaving")
        button("Leave and delete").click()
        # It stays as long as somebody is about to use it.
        button("Undo").focus()
        self.check(page, "undo")
        button("Undo").click()
        expect(self.message(page, "Look at")).to_be_visible()
        self.turn(page, "Nearby")
        page.get_by_role("radio", name=self.word(page, "Everyone")).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        self.check(page, "everyone")
        page.keyboard.press("Escape")

    def look_at_wall(self, host):
        self.turn(host, "Photos")
        self.check(host, "no wall")
        host.get_by_role("button", name=self.word(host, "Open a photo wall")).click()
        expect(host.locator(".wallcode img")).to_be_visible()
        self.check(host, "wall")
        size, scheme = self.looks[0]
        guest = self.open_guest(self.gateway, host, SIZES[size], scheme == "dark", language=self.language, right_to_left=self.is_right_to_left)
        expect(guest.get_by_label(self.word(guest, "Your name"))).to_be_visible()
        self.check(guest, "guest joins")
        self.join_as_guest(guest, "Gina")
        for count, (name, colour) in enumerate([("lake", "teal"), ("meadow", "olive"), ("sunset", "tomato")], 1):
            add_plain(guest, name, colour, (1500, 1000))
            expect(host.locator(".thumbs li")).to_have_count(count)
        expect(guest.locator(".rows li").first).to_contain_text(self.word(guest, "On the wall"))
        self.check(guest, "guest")
        host.locator(".large img").evaluate("(e) => e.decode()")
        self.check(host, "wall with photos")

    def look_at_certificate(self, page):
        """Somebody whose certificate nobody here knows asks to be let in."""
        self.addCleanup(advertise_with(self.gateways[1], "Bert", Certificate("Bert Brown", Certificate("Strings", Certificate("Concert hall"), vouches=True))))
        page.evaluate(ASK_IN_SESSION)
        page.reload()
        self.invite(page, "Bert")
        expect(page.locator(".chain")).to_be_visible()
        self.check(page, "certificate")
        page.locator(".overlay").get_by_role("button", name=self.word(page, "Reject")).click()
        expect(page.locator(".overlay .card")).to_have_count(0)

    def look_at_gateway(self, page):
        def button(name):
            return page.get_by_role("button", name=self.word(page, name), exact=True)

        self.turn(page, "Gateway")
        button("Make a code").click()
        expect(page.locator(".newcode img")).to_be_visible()
        self.check(page, "gateway")
        for size, scheme in self.looks:
            page.set_viewport_size(SIZES[size])
            page.emulate_media(color_scheme=scheme)
            page.locator(".charts").scroll_into_view_if_needed()
            if size != "large":
                self.picture(page, f"axe-{self.name}-{size}-{scheme}-charts")
        # The gateway says them in English alone.
        if self.name == "english":
            button("Check now").click()
            expect(page.locator(".finding").first).to_be_visible()
            self.check(page, "findings", ".findings", by_keys=False)
        button("Delete my data and leave").click()
        self.check(page, "deleting")
        page.keyboard.press("Escape")
        viewer = self.open(self.gateway)
        self.come_in(viewer, self.code_of(page, role="viewer"), "Vera")
        expect(viewer.locator(".notes")).to_contain_text(self.word(viewer, "View only: you see what the gateway itself sees."))
        self.check(viewer, "viewer")

    def look_at_pages(self):
        """The pages about the contract and the client, in English alone."""
        for what, path in PAGES.items():
            self.check(self.open(self.gateway, path), what, looks=[("desktop", "light"), ("phone", "dark")], by_keys=False)

    def test_axe_finds_nothing_in_english(self):
        self.look_at_all("english", [
            ("desktop", "light"), ("desktop", "dark"), ("phone", "dark"), ("phone", "light"), ("large", "light")])
        self.look_at_pages()

    def test_axe_finds_nothing_in_german(self):
        self.look_at_all("german", [("phone", "light"), ("phone", "dark"), ("desktop", "dark"), ("desktop", "light")], language="de")

    def test_axe_finds_nothing_from_right_to_left(self):
        self.look_at_all("rtl", [("phone", "light"), ("desktop", "dark")], right_to_left=True)
