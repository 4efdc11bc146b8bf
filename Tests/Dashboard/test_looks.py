"""How it looks: nothing out of the window, nothing too pale, nothing without a name; pictures to look at."""

import re

from stage import DESKTOP, PHONE, Stage, expect, own_address

# The contrast of each text with what lies behind it, as WCAG counts it.
CONTRAST = """() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number)
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0)
  const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0.9) return c } return [255, 255, 255] }
  const pale = []
  for (const e of document.querySelectorAll('body *')) {
    const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())
    if (!text || !e.checkVisibility() || e.closest(':disabled') || e.tagName === 'OPTION') continue
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x)
    const ratio = (a + 0.05) / (b + 0.05)
    if (ratio < 4.5) pale.push(`${e.tagName}.${e.className} “${e.textContent.slice(0, 30)}” ${ratio.toFixed(2)}`)
  }
  return pale
}"""
OUTSIDE = """() => [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && !e.closest('.scroller, .rooms, svg'))
  .filter((e) => { const r = e.getBoundingClientRect(); return r.width && (r.right > innerWidth + 1 || r.left < -1) })
  .map((e) => `${e.tagName}.${e.className}`)"""
NAMELESS = """() => [...document.querySelectorAll('button, a, input, select, textarea')].filter((e) => e.checkVisibility())
  .filter((e) => !e.textContent.trim() && !e.getAttribute('aria-label') && !e.labels?.length).map((e) => e.outerHTML)"""
SMALL = """() => [...document.querySelectorAll('button, .button, a.way, textarea')].filter((e) => e.checkVisibility() && !e.matches('.link'))
  .filter((e) => e.getBoundingClientRect().height < 33.5).map((e) => e.outerHTML)"""


class Looks(Stage):
    def test_all_pages_fit_at_every_width_in_light_and_dark(self):
        gateway = self.gateways[0]
        ben = self.enter(self.gateways[1], "Benjamin Britten of Aldeburgh, and his friends")
        for size, width in ((PHONE, "phone"), (DESKTOP, "desktop"), ({"width": 900, "height": 620}, "tablet")):
            with self.subTest(width):
                page = self.page(gateway, size)
                expect(page.get_by_label("Pairing code")).to_be_visible()
                self.check(page, "entrance", width)
                page.close()
                page = self.enter(gateway, "Ada", size=size)
                self.turn(page, "Nearby")
                expect(self.neighbour(page, "Benjamin")).to_be_visible()
                self.check(page, "nearby", width)
                self.invite(page, "Benjamin", "Come")
                self.answer(ben, "Accept")
                self.turn(page, "Session")
                expect(page.locator(".roomhead")).to_contain_text("connected")
                self.say(page, "A word that is too long for any line: " + "a" * 200)
                expect(page.locator(".message").last).not_to_contain_text("Sending")
                page.get_by_role("button", name="Members").click()
                self.check(page, "session", width)
                page.get_by_role("button", name="Leave", exact=True).click()
                self.check(page, "leaving", width)
                page.get_by_role("button", name="Leave and delete").click()
                expect(page.locator(".undo")).to_be_visible()
                self.check(page, "left", width)
                page.get_by_role("button", name="Undo").click()
                page.goto(f"{gateway.url}/#map")
                expect(page.locator(".person")).to_have_count(2)
                self.check(page, "map", width)
                for way in ("Console", "Gateway"):
                    self.turn(page, way)
                    self.check(page, way.lower(), width)
                page.get_by_role("button", name="Delete my data and leave").click()
                self.check(page, "deleting", width)
                page.get_by_role("button", name="Delete and leave").click()
                expect(page.get_by_label("Pairing code")).to_be_visible()
                page.context.close()
                self.contexts.remove(page.context)

    def check(self, page, what, width):
        page.wait_for_function("() => document.readyState === 'complete'")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            name = f"{what}-{width}-{scheme}"
            self.picture(page, name)
            self.assertEqual([], page.evaluate(OUTSIDE), f"{name}: out of the window")
            self.assertEqual([], page.evaluate(CONTRAST), f"{name}: too pale")
            self.assertEqual([], page.evaluate(NAMELESS), f"{name}: without a name")
            self.assertEqual([], page.evaluate(SMALL), f"{name}: too small for a finger")
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), page.viewport_size["width"], name)

    def test_connection_that_is_not_protected_is_named(self):
        gateway = self.gateways[0]
        page = self.page(gateway)
        expect(page.locator(".note")).to_have_count(0)
        address = own_address()
        if address is None:
            self.skipTest("this machine has no address but loopback")
        page.goto(f"http://{address}:{gateway.port}")
        expect(page.locator(".note")).to_contain_text("This connection is not encrypted")
        expect(page.get_by_role("link", name="Open the encrypted page")).to_have_attribute(
            "href", f"https://{address}:{gateway.port}/")
        self.picture(page, "unprotected")
        page.get_by_role("link", name="Open the encrypted page").click()
        question = page.get_by_role("dialog", name="Your browser will warn you first")
        expect(question.locator("code")).to_have_text(re.compile(r"^([0-9a-f]{2}:){31}[0-9a-f]{2}$"))
        self.picture(page, "warning-explained")
        question.get_by_role("button", name="Cancel").click()
        self.come_in(page, gateway.new_code(), "Ada")
        expect(page.locator(".notes")).to_contain_text("This connection is not encrypted")
        self.picture(page, "unprotected-in")

    def test_protected_page_is_one_that_a_device_trusts_and_says_nothing_of_it(self):
        gateway = self.gateways[0]
        address = own_address() or "127.0.0.1"
        context = self.browser.new_context(viewport=DESKTOP, ignore_https_errors=True)
        self.contexts.append(context)
        page = context.new_page()
        page.faults = []
        page.goto(f"https://{address}:{gateway.port}")
        expect(page.locator(".note")).to_have_count(0)
        self.come_in(page, gateway.new_code(), "Ada")
        expect(page.locator(".notes")).not_to_contain_text("not encrypted")
        cookies = context.cookies()
        self.assertEqual([True], [cookie["secure"] for cookie in cookies])
        self.assertTrue(cookies[0]["name"].startswith("__Host-"))
