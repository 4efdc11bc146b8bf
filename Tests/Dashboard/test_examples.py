"""The examples: each is a page on the client alone, open in two browsers at two gateways."""

import json
import os

from gateway import ROOT
from looks import ENGLISH, FROM_THE_RIGHT, GERMAN, Looks
from paper import INKED, draw, until_inked
from stage import MICROPHONE, PHONE, Stage, catalogue, expect

MODERN_PHONE = {"width": 390, "height": 844}
# The language of an example, as its reader chooses it.
SPEAK = "(language) => import('/examples/example.js').then((example) => example.speak(language))"


class Examples(Looks, Stage):
    browser_options = MICROPHONE

    def open(self, name):
        """The same page in front of Ada, and of Ben with a phone in the dark."""
        pages = [self.enter(self.gateways[0], "Ada"), self.enter(self.gateways[1], "Ben", size=PHONE, dark=True)]
        for page, gateway in zip(pages, self.gateways):
            self.turn(page, "Gateway")
            page.locator(f".examples a[href='examples/{name}.html']").click()
        for page, other in zip(pages, ("Ben", "Ada")):
            expect(page.get_by_role("status").first).to_have_text(f"Here with {other}", timeout=30_000)
        return pages

    def look_at(self, what, *pages):
        """The first page in all looks, and then the others on the phone on which they are."""
        page = pages[0]
        for self.name, self.looks, language in (("english", ENGLISH, "en"), ("german", GERMAN, "de")):
            page.evaluate(SPEAK, language)
            self.language = language
            self.check(page, f"example {what}")
        self.name, self.looks, self.language = "rtl", FROM_THE_RIGHT, "en"
        page.evaluate(SPEAK, "en")
        page.evaluate("document.documentElement.dir = 'rtl'")
        self.check(page, f"example {what}", by_keys=False)
        page.evaluate("document.documentElement.dir = ''")
        for page in pages[1:]:
            self.name, self.looks = "other", [("phone", "dark")]
            self.check(page, f"example {what}")

    def test_drawing_appears_on_the_other_board_also_for_who_comes_later(self):
        ada, ben = pages = self.open("board")
        ada.get_by_role("radio", name="Green").check()
        draw(ada, (0.1, 0.8), (0.3, 0.2), (0.5, 0.8), (0.7, 0.2), (0.9, 0.8))
        own = ada.locator("#paper").evaluate(INKED)
        self.assertGreater(own, 5000)
        until_inked(ben, lambda count: count == own)
        ben.get_by_role("radio", name="Orange").check()
        draw(ben, (0.2, 0.5), (0.8, 0.5))
        # The line comes in pieces.
        both = ben.locator("#paper").evaluate(INKED)
        self.assertGreater(both, own)
        until_inked(ada, lambda count: count == both)
        self.look_at("board", *pages)
        ben.reload()
        # Ada's line is there again; the other one was Ben's, of a page that is gone.
        until_inked(ben, lambda count: count == own)
        self.assertEqual(both, ada.locator("#paper").evaluate(INKED))
        ada.get_by_role("button", name="Clear for everyone").click()
        for page in pages:
            until_inked(page, lambda count: count == 0)

    def test_p_app_3_metronomes_of_two_pages_beat_together_within_their_error_bounds(self):
        ada, ben = pages = self.open("metronome")
        ada.get_by_label("Beats per minute").fill("300")
        ada.get_by_label("Beats per minute").press("Tab")
        expect(ben.get_by_label("Beats per minute")).to_have_value("300")
        read = "(e) => ({ bound: Number(e.textContent), lead: Number(e.dataset.lead) })"
        for _ in range(240):
            for page in pages:
                page.wait_for_timeout(250)
            one, other = [page.locator("#bound").evaluate(read) for page in pages]
            if one["bound"] <= 5 and other["bound"] <= 5:
                break
        self.assertLessEqual(one["bound"], 5)
        self.assertLessEqual(other["bound"], 5)
        # Half a millisecond for what is rounded.
        self.assertLessEqual(abs(one["lead"] - other["lead"]), one["bound"] + other["bound"] + 0.5)
        self.look_at("metronome", *pages)

    def test_p_app_6_things_to_do_are_the_same_for_both_also_those_that_were_added_alone(self):
        ada, ben = pages = self.open("todo")
        for page, text in ((ada, "Buy milk"), (ben, "Water the plants")):
            page.get_by_label("New task").fill(text)
            page.keyboard.press("Enter")
        for page in pages:
            expect(page.locator("#items li")).to_have_count(2)
        ben.get_by_label("Buy milk", exact=True).check()
        expect(ada.get_by_label("Buy milk", exact=True)).to_be_checked()
        self.look_at("todo", *pages)
        # Ben closes the page and changes nothing meanwhile; Ada does.
        ben.goto(self.gateways[1].url)
        expect(ada.get_by_role("status").first).to_contain_text("Open this page", timeout=30_000)
        ada.get_by_role("button", name="Remove Buy milk").click()
        ada.get_by_label("New task").fill("Call Cleo")
        ada.keyboard.press("Enter")
        ben.go_back()
        expect(ben.locator("#items label")).to_have_text(["Water the plants", "Call Cleo"], timeout=30_000)
        expect(ada.locator("#items label")).to_have_text(["Water the plants", "Call Cleo"])

    def test_p_app_6_remote_turns_slides_on_the_screen_and_points_at_them(self):
        screen, remote = pages = self.open("remote")
        remote.get_by_role("button", name="Remote").click()
        for number in ("2", "3"):
            remote.get_by_role("button", name="Next").click()
            expect(screen.locator("#slide")).to_have_text(number)
        remote.get_by_role("button", name="Back").click()
        expect(screen.locator("#slide")).to_have_text("2")
        expect(remote.locator("#shown")).to_have_text("2")
        box = remote.locator("#pad").bounding_box()
        remote.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        remote.mouse.down()
        # Where it is goes by datagrams, any of which may be lost.
        for part in (4, 3, 5):
            remote.mouse.move(box["x"] + box["width"] * part / 6, box["y"] + box["height"] / part, steps=4)
            remote.wait_for_timeout(200)
        expect(screen.locator("#pointer")).to_be_visible()
        self.look_at("remote", *pages)

    def test_p_app_6_curves_of_what_the_other_device_feels_are_drawn_live(self):
        ada, ben = pages = self.open("sensors")
        ada.get_by_role("button", name="Send this device’s motion").click()
        for step in range(40):
            ada.mouse.move(200 + step * 15, 300 + step % 7 * 40)
            ada.wait_for_timeout(50)
        plot = ben.locator(".plot").filter(has_text="Ada")
        ben.wait_for_function(
            "() => [...document.querySelectorAll('.plot')].some((e) => e.textContent === 'Ada' && e.dataset.samples > 10)")
        expect(ada.locator(".plot")).to_have_count(2)
        self.assertGreater(plot.locator("canvas").evaluate(INKED), 1000)
        self.look_at("sensors", *pages)

    def test_p_app_6_voice_of_the_other_is_heard_while_they_talk(self):
        ada, ben = pages = self.open("audio")
        ada.get_by_role("button", name="Talk").click()
        expect(ada.get_by_role("button", name="Stop")).to_be_visible()
        ben.wait_for_function("() => document.querySelector('.voices meter')?.value > 0.001", polling=20, timeout=30_000)
        self.look_at("audio", *pages)
        ada.get_by_role("button", name="Stop").click()
        expect(ada.get_by_role("button", name="Talk")).to_be_visible()
        ben.wait_for_function("() => document.querySelector('.voices meter').value === 0", timeout=30_000)

    def test_p_app_6_each_reads_the_phrases_of_the_other_in_a_language_of_their_own(self):
        ada, ben = pages = self.enter(self.gateways[0], "Ada"), self.page(self.gateways[1], MODERN_PHONE, language="de-DE")
        self.come_in(ben, self.gateways[1].new_code(), "Ben")
        for page in pages:
            self.turn(page, "Gateway")
            page.locator(".examples a[href='examples/translate.html']").click()
        for page, here in zip(pages, ("Here with Ben", "Hier mit Ada")):
            expect(page.get_by_role("status").first).to_have_text(here, timeout=30_000)
        ada.get_by_role("button", name="Thank you very much!").click()
        expect(ben.locator("#said p")).to_have_text(["AdaEnglishVielen Dank!"])
        ben.get_by_label("Zahl").fill("1")
        ben.get_by_role("button", name="Ich bin allein.").click()
        ben.get_by_label("Zahl").fill("5")
        ben.get_by_role("button", name="Wir sind zu 5.").click()
        expect(ada.locator("#said p")).to_have_text(["BenDeutschThere are 5 of us.", "BenDeutschI am alone.", "YouEnglishThank you very much!"])
        self.look_at("translate", *pages)
        # All that was said is there in a language that is chosen later.
        ben.get_by_label("Sprache").select_option("en")
        expect(ben.locator("#said p")).to_have_text(["YouDeutschThere are 5 of us.", "YouDeutschI am alone.", "AdaEnglishThank you very much!"])
        expect(ben.get_by_role("status").first).to_have_text("Here with Ada")
        ben.get_by_role("button", name="I am ready.").click()
        expect(ada.locator("#said p").first).to_have_text("BenEnglishI am ready.")

    def test_each_example_speaks_german_to_a_phone_of_which_that_is_the_language(self):
        german = catalogue("de", "examples")
        names = [name.removesuffix(".html") for name in sorted(os.listdir(os.path.join(ROOT, "public", "examples"))) if name.endswith(".html")]
        self.assertIn("request", names)
        page = self.page(self.gateways[0], MODERN_PHONE, language="de-DE")
        self.come_in(page, self.gateways[0].new_code(), "Ada")
        for name in names:
            page.goto(f"{self.gateways[0].url}/examples/{name}.html")
            expect(page.get_by_role("heading", level=1)).to_have_text(german[f"{name}.title"])
            expect(page).to_have_title(f"{german[f'{name}.title']} · Vicinity")
            state = german["request.asBrowser" if name == "request" else "status.alone"]
            expect(page.get_by_role("status").first).to_have_text(state, timeout=30_000)
            self.assertEqual("de", page.evaluate("document.documentElement.lang"))
        # The language that was chosen in the dashboard goes before that of the browser.
        page.goto(self.gateways[0].url)
        self.turn(page, "Gateway")
        page.get_by_label("Sprache").select_option("en")
        page.goto(f"{self.gateways[0].url}/examples/todo.html")
        expect(page.get_by_role("heading", level=1)).to_have_text("To-do list")

    def test_whoever_has_not_joined_the_gateway_is_led_to_where_they_can(self):
        page = self.page(self.gateways[0])
        page.goto(f"{self.gateways[0].url}/examples/board.html")
        link = page.get_by_role("link", name="Join this gateway first.")
        expect(link).to_be_visible()
        link.click()
        expect(page.get_by_label("Pairing code")).to_be_visible()

    def test_requests_of_the_contract_are_tried_with_what_the_browser_may(self):
        page = self.enter(self.gateways[0], "Ada")
        page.goto(f"{self.gateways[0].url}/docs")
        page.get_by_role("link", name="Try requests").click()
        answer = page.locator("#text")
        expect(page.locator("#curl")).to_contain_text(f"'{self.gateways[0].url}/v1/gateway'")
        page.get_by_role("button", name="Send").click()
        expect(answer).to_contain_text('"role": "member"')
        choice = page.get_by_label("Request")
        choice.select_option(label="POST /v1/peers · Create a peer")
        page.get_by_label("Body").fill('{"displayName": "Zora"}')
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#code")).to_contain_text("201")
        expect(answer).to_contain_text('"displayName": "Zora"')
        peer = json.loads(answer.inner_text())["id"]
        choice.select_option(label="GET /v1/peers/{peer} · Get a peer")
        page.get_by_label("peer").fill(peer)
        expect(page.locator("#curl")).to_contain_text(f"/v1/peers/{peer}")
        self.look_at("request", page)
        page.get_by_label("peer").fill("nobody")
        page.get_by_role("button", name="Send").click()
        expect(answer).to_contain_text("nobody")
        expect(page.locator("#code")).to_contain_text("Not found")

    def test_each_operation_of_the_reference_leads_to_a_request_that_is_tried(self):
        gateway = self.gateways[0]
        page = self.enter(gateway, "Ada")
        # The page makes it after it has come in.
        session = page.wait_for_function("fetch('/v1/sessions').then((a) => a.json()).then((list) => list.items[0])").json_value()
        page.goto(f"{gateway.url}/docs")
        operations = page.locator("details:has(> summary b)")
        self.assertEqual(operations.count() - 2, page.get_by_role("link", name="Try it", include_hidden=True).count())
        page.locator("#sendMessage summary").click()
        page.locator("#sendMessage").get_by_role("link", name="Try it").click()
        expect(page.get_by_label("Request")).to_contain_text("POST /v1/sessions/{session}/messages")
        page.get_by_label("session").fill(session["id"])
        page.get_by_label("Body").fill("Hello")
        expect(page.locator("#curl")).to_contain_text("-H 'Content-Type: text/plain' --data-binary 'Hello'")
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#text")).to_contain_text("nobody is connected in this session")
        # A header that a request needs is a field.
        page.goto(f"{gateway.url}/examples/request.html#appendResource")
        page.get_by_label("Upload-Offset").fill("7")
        expect(page.locator("#curl")).to_contain_text("-H 'Upload-Offset: 7'")

    def test_examples_of_the_client_run_on_the_page_that_shows_them(self):
        gateway = self.gateways[0]
        page = self.enter(gateway, "Ada")
        page.goto(f"{gateway.url}/docs")
        page.get_by_role("link", name="JavaScript").click()
        output = page.locator("#output")
        for name, said in (("answer", "Waiting for an invitation"), ("invite", "Caller 2 asks: May I join you?")):
            page.get_by_role("button", name=f"Run examples/{name}.js").click()
            expect(output).to_contain_text(said)
        expect(output).to_contain_text('Echo 1 answered {"youSaid":"Anybody there?"}')
        self.picture(page, "docs-js-run")
        page.get_by_role("button", name="Stop all").click()
        expect(output).to_be_empty()
        # The same one twice is two peers.
        for _ in range(2):
            page.get_by_role("button", name="Run examples/chat.js").click()
        expect(output).to_contain_text("Example 3: Hello")
        expect(output).to_contain_text("Example 4: Hello")
        page.get_by_role("button", name="Stop all").click()
        stranger = self.page(gateway)
        stranger.goto(f"{gateway.url}/docs/js")
        expect(stranger.get_by_role("button", name="Run examples/chat.js")).to_be_disabled()
        expect(stranger.get_by_role("link", name="Join this gateway")).to_be_visible()

    def test_requests_are_tried_with_a_token_of_ones_own(self):
        gateway = self.gateways[0].operator()
        page = self.page(gateway)
        page.goto(f"{gateway.url}/examples/request.html")
        expect(page.locator("#status")).to_contain_text("has not joined")
        page.get_by_label("Token").fill(gateway.token)
        expect(page.locator("#status")).to_have_text("Requests are made with your token.")
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#text")).to_contain_text('"role": "operator"')
        self.assertNotIn(gateway.token, page.locator("#curl").inner_text())
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#code")).to_contain_text("Not authenticated")
