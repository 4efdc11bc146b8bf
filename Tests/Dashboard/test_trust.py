"""Verification of peers: codes that are compared on both screens, and certificates that are decided on."""

import re

from certificates import Certificate, advertise_with
from stage import PHONE, Stage, expect

# A request as a program of the page's own client makes it.
ASK = """async ([method, path, body]) => {
  const { Vicinity } = await import('/vicinity.js')
  const kept = JSON.parse(localStorage.vicinity)
  const gateway = new Vicinity(location.origin, { csrf: kept.csrf })
  return gateway.request(method, path.replace('{peer}', kept.peer), { json: { ...body, ...(method === 'POST' ? { peer: kept.peer } : {}) } })
}"""


class Trust(Stage):
    def begin_comparison(self):
        ada = self.enter(self.gateways[0], "Ada")
        ben = self.enter(self.gateways[1], "Ben", size=PHONE, dark=True)
        self.meet(ada, "Ada", ben, "Ben")
        ada.get_by_role("button", name="Members").click()
        ada.get_by_role("button", name="Verify").click()
        cards = [page.get_by_role("article", name="Compare codes with") for page in (ada, ben)]
        code = cards[0].locator(".compared")
        expect(code).to_have_text(re.compile(r"^\d{3} \d{3}"))
        expect(cards[1].locator(".compared")).to_have_text(code.inner_text())
        return ada, ben, cards

    def test_p_sec_5_codes_are_the_same_on_both_screens_and_who_compares_them_is_verified(self):
        ada, ben, cards = self.begin_comparison()
        self.picture(ben, "comparing-phone-dark")
        self.picture(ada, "comparing")
        for card in cards:
            card.get_by_role("button", name="They match").click()
        for page, card in zip((ada, ben), cards):
            expect(card).to_contain_text("is verified")
            card.get_by_role("button", name="Close").click()
            expect(card).to_have_count(0)
        expect(ada.locator(".panel li").get_by_role("img", name="Verified")).to_be_visible()
        expect(ada.get_by_role("button", name="Verify")).to_be_hidden()

    def test_p_sec_5_codes_that_differ_warn(self):
        _, ben, cards = self.begin_comparison()
        cards[1].get_by_role("button", name="They differ").click()
        expect(cards[1]).to_contain_text("someone may be intercepting the connection")
        self.picture(ben, "codes-differ-phone-dark")

    def test_p_sec_3_who_comes_in_without_a_certificate_waits_for_a_decision(self):
        ada = self.enter(self.gateways[0], "Ada")
        ben = self.enter(self.gateways[1], "Ben")
        expect(self.neighbour(ada, "Ben")).to_be_visible()
        session = ada.evaluate(ASK, ["POST", "/v1/sessions", {"trust": "ask"}])["id"]
        ada.evaluate("(id) => { localStorage.vicinity = JSON.stringify({ ...JSON.parse(localStorage.vicinity), session: id }) }", session)
        ada.reload()
        self.invite(ada, "Ben")
        self.answer(ben, "Accept")
        card = ada.get_by_role("article", name="Trust Ben?")
        expect(card).to_contain_text("has no certificate")
        self.picture(ada, "certificate")
        card.get_by_role("button", name="Trust").click()
        expect(card).to_have_count(0)
        self.turn(ada, "Session")
        expect(ada.locator(".roomhead")).to_contain_text("1 person connected")

        # One who has certificates shows them, each with whom it is by, until when it is valid, and its fingerprint.
        strings = Certificate("Strings", Certificate("Concert hall"), vouches=True)
        leaf = Certificate("Bert Brown", strings)
        self.addCleanup(advertise_with(self.gateways[1], "Bert", leaf))
        self.invite(ada, "Bert")
        card = ada.get_by_role("article", name="Trust Bert?")
        expect(card).to_contain_text("This certificate was not issued by an authority that this gateway trusts.")
        expect(card.get_by_role("listitem").locator("strong")).to_have_text(["Bert Brown", "Strings"])
        for shown, issuer in zip(card.get_by_role("listitem").all(), ("Strings", "Concert hall")):
            expect(shown).to_contain_text(f"Issued by {issuer}")
        expect(card.get_by_role("listitem").first).to_contain_text(re.compile(r"Valid until \w+ \d+, \d{4}"))
        expect(card.locator("code")).to_have_text([leaf.fingerprint, strings.fingerprint])
        expect(card.locator(".hint").last).to_have_text(re.compile(r"^\d+ sec$"))
        self.picture(ada, "certificate-chain")
        card.get_by_role("button", name="Reject").click()
        expect(card).to_have_count(0)
        expect(ada.locator(".roomhead")).to_contain_text("1 person connected")
