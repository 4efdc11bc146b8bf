"""axe finds no fault in any view: in light and dark, on a phone and on desks up to 2560 pixels, in each language, from either side.

In each view the keyboard reaches all that can be used, and nothing moves for those who do not want that. Pictures of all are kept.
"""

from certificates import Certificate, advertise_with
from guests import OperatorStage, add_plain
from looks import ENGLISH, FROM_THE_RIGHT, GERMAN, SIZES, Looks
from radios import GROUP, PIXEL, Radios, problem, radio
from stage import expect, own_address

# A session whose members are decided on, as the one that is open.
ASK_IN_SESSION = """async () => {
  const { Vicinity } = await import('/vicinity.js')
  const kept = JSON.parse(localStorage.vicinity)
  const { id } = await new Vicinity(location.origin, { csrf: kept.csrf }).post('/v1/sessions', { peer: kept.peer, trust: 'ask' })
  localStorage.vicinity = JSON.stringify({ ...kept, session: id })
}"""
# An invitation, from the person in front of a page to a peer.
ASK = """async ([to, timeout, context]) => {
  const { Vicinity } = await import('/vicinity.js')
  const { csrf, peer, session } = JSON.parse(localStorage.vicinity)
  await new Vicinity(location.origin, { csrf }).post('/v1/invitations', { peer, session, to, serviceType: 'adhoc', timeout, context })
}"""
# As many photos as a row of the wall has no room for.
SMALL_PHOTOS = 16
PAGES = {"docs": "/docs", "docs of the client": "/docs/js", "problems": "/problems"}


class Axe(Looks, OperatorStage):
    gateway_count = 2
    gateway_names = ["Stage", "Foyer"]

    def open(self, gateway, path="/", **how):
        size, scheme = self.looks[0]
        page = self.page(gateway, SIZES[size], scheme == "dark", language=self.language, right_to_left=self.is_right_to_left, **how)
        if path != "/":
            page.goto(gateway.url + path)
        return page

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
        peer = ada.evaluate("JSON.parse(localStorage.vicinity).peer")
        ben.evaluate(ASK, [peer, 1, ""])
        expect(ada.locator(".missed li")).to_be_visible()
        self.check(ada, "missed")
        # One that is there for as long as it is looked at.
        ben.evaluate(ASK, [peer, 600, "Come over"])
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
        link = dialog.get_by_role("link").get_attribute("href")
        dialog.get_by_role("button", name=self.word(page, "Close")).click()
        # On a phone the members take the room of the messages.
        members = page.get_by_role("button", name=self.word(page, "Members"), exact=True)
        members.click()
        guest = self.open_guest_page(link)
        self.check(guest, "guest joins a session")
        guest.get_by_label(self.word(guest, "Your name")).fill("Gwen")
        guest.get_by_role("button", name=self.word(guest, "Join")).click()
        expect(guest.locator(".composer textarea")).to_be_enabled()
        self.say_as_guest(guest, "Good evening to all of you")
        expect(self.message(page, "Good evening")).to_be_visible()
        self.check(guest, "guest in a session")
        self.leave(guest)
        members.click()

    def open_guest_page(self, link):
        size, scheme = self.looks[0]
        return self.open_link(
            self.gateway, link, SIZES[size], scheme == "dark", language=self.language, right_to_left=self.is_right_to_left)

    def say_as_guest(self, page, text):
        page.get_by_role("textbox", name=self.word(page, "Message")).fill(text)
        page.get_by_role("button", name=self.word(page, "Send"), exact=True).click()

    def leave(self, guest):
        """Its message goes with it."""
        guest.get_by_role("button", name=self.word(guest, "Leave")).click()
        self.check(guest, "guest leaves")
        guest.get_by_role("button", name=self.word(guest, "Delete and leave")).click()
        expect(guest.get_by_label(self.word(guest, "Pairing code"))).to_be_visible()
        guest.context.close()
        self.contexts.remove(guest.context)

    def look_at_questions(self, page):
        def button(name):
            return page.get_by_role("button", name=self.word(page, name), exact=True)

        button("Leave").click()
        self.check(page, "leaving")
        button("Leave and delete").click()
        # It stays as long as somebody is about to use it.
        page.locator(".undo").hover()
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
        guest = self.open_guest_page(host.get_by_role("link", name=self.word(host, "Open link")).get_attribute("href"))
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
        for number in range(SMALL_PHOTOS):
            add_plain(guest, f"{number + 1}", "slategray", (150, 100))
        expect(host.locator(".thumbs li")).to_have_count(3 + SMALL_PHOTOS)
        full = host.get_by_role("button", name=self.word(host, "Full screen"))
        full.click()
        host.wait_for_function("() => document.fullscreenElement?.matches('.wall')")
        self.check(host, "wall in full screen")
        full.click()
        host.wait_for_function("() => !document.fullscreenElement")

    def look_at_certificate(self, page):
        """Somebody whose certificate nobody here knows asks to be let in."""
        self.addCleanup(advertise_with(self.gateways[1], "Bert", Certificate("Bert Brown", Certificate("Strings", Certificate("Concert hall"), vouches=True))))
        page.evaluate(ASK_IN_SESSION)
        page.reload()
        self.invite(page, "Bert")
        expect(page.locator(".chain")).to_be_visible()
        self.check(page, "certificate")
        # The question may have ended while it was looked at.
        page.evaluate("document.querySelector('.overlay .card .row.end button')?.click()")
        expect(page.locator(".overlay .card")).to_have_count(0)

    def look_at_gateway(self, page):
        def button(name):
            return page.get_by_role("button", name=self.word(page, name), exact=True)

        radios = Radios(
            radio(state="network", network={**GROUP, "members": 1, "stations": [PIXEL]}), radio("wlan1"), radio("wlan2", state="blocked"))
        radios.problem = problem("unavailable", 503, "wpaSupplicant")
        radios.serve(page)
        self.turn(page, "Gateway")
        expect(page.locator(".network img")).to_be_visible()
        button("Make a code").click()
        expect(page.locator(".newcode[aria-live] img")).to_be_visible()
        self.check(page, "gateway")
        button("Join a mesh").click()
        self.check(page, "radios", ".network", by_keys=False)
        for size, scheme in self.looks:
            page.set_viewport_size(SIZES[size])
            page.emulate_media(color_scheme=scheme)
            page.locator(".charts").scroll_into_view_if_needed()
            if size != "large":
                self.picture(page, f"views/{self.name}-{size}-{scheme}/charts")
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
        self.name = "pages"
        for what, path in PAGES.items():
            self.check(self.open(self.gateway, path), what)

    def test_axe_finds_nothing_in_english(self):
        self.look_at_all("english", ENGLISH)
        self.look_at_pages()

    def test_axe_finds_nothing_in_german(self):
        self.look_at_all("german", GERMAN, language="de")

    def test_axe_finds_nothing_from_right_to_left(self):
        self.look_at_all("rtl", FROM_THE_RIGHT, right_to_left=True)
