"""How a page is looked at: in several sizes and colour schemes, by axe, by the keyboard, and in pictures."""

import functools
import importlib.util
import os

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
# Controls in whose middle another thing lies, though that lies above nothing on purpose; what is scrolled away has none.
COVERED = """() => {
  const isCut = (e, x, y) => {
    for (let around = e.parentElement; around; around = around.parentElement) {
      const { left, right, top, bottom } = around.getBoundingClientRect()
      if (getComputedStyle(around).overflowY !== 'visible' && (x < left || x > right || y < top || y > bottom)) return true
    }
  }
  const controls = (document.querySelector('dialog:modal') ?? document.fullscreenElement ?? document).querySelectorAll('a[href], button, input, select, textarea')
  return [...controls].filter((e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !e.matches('.hiddenfile') && !e.closest('[inert]')).flatMap((e) => {
    const { left, right, top, bottom } = e.getBoundingClientRect()
    const middle = [(left + right) / 2, (top + bottom) / 2]
    const above = document.elementFromPoint(...middle)
    const isFree = !above || above.contains(e) || e.contains(above) || above.closest('label')?.control === e || isCut(e, ...middle)
    return isFree || above.closest('.overlay, .passing, .undoplace') ? [] : [`${e.outerHTML.slice(0, 120)} below ${above.outerHTML.slice(0, 120)}`]
  })
}"""
# Buttons and fields that are too small for a finger.
SMALL = """() => [...document.querySelectorAll('button, .button, a.way, textarea')].filter((e) => e.checkVisibility() && !e.matches('.link'))
  .filter((e) => e.getBoundingClientRect().height < 33.5).map((e) => e.outerHTML.slice(0, 160))"""
MOVING = """() => document.getAnimations().filter((one) => one.playState === 'running')
  .map((one) => `${one.animationName ?? one.transitionProperty} of ${one.effect.target.outerHTML.slice(0, 160)}`)"""
# All that can be used and that the Tab key has not reached yet. Of radio buttons it is one, and behind a question nothing.
COUNT_CONTROLS = """() => {
  const isOther = (e) => e.type === 'radio' && !e.checked && document.querySelector(`input[name="${e.name}"]:checked`)
  const all = (document.querySelector('dialog:modal') ?? document.fullscreenElement ?? document).querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')
  window.unreached = new Set([...all].filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.tabIndex >= 0 && !isOther(e) && !e.closest('[inert]')))
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
# The looks of a run in each language, and of one from right to left.
ENGLISH = [("desktop", "light"), ("desktop", "dark"), ("phone", "dark"), ("phone", "light"), ("large", "light")]
GERMAN = [("phone", "light"), ("phone", "dark"), ("desktop", "dark"), ("desktop", "light")]
FROM_THE_RIGHT = [("phone", "light"), ("desktop", "dark")]


@functools.cache
def axe():
    with open(AXE, encoding="utf-8") as file:
        return file.read()


class Looks:
    """A test whose pages are looked at: by axe, by the Tab key, and by people, for whom there are pictures."""

    # The name of a run, its sizes and colour schemes, and its language; the page is used in the first of the looks.
    name, looks, language, is_right_to_left = "english", [], "en", False

    def check(self, page, what, part=None, looks=None, by_keys=True):
        """Each look at what is there now; `part` is what has to be in the pictures."""
        if not page.evaluate("'axe' in window"):
            page.evaluate(axe())
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
                    self.picture(page, f"views/{look}/{what.replace(' ', '-')}")
                self.assertEqual([], page.evaluate(RUN, RULES_OF_COLOUR if any(size == one for one, _ in checked) else None))
                self.assertEqual([], page.evaluate(OUTSIDE))
                self.assertEqual([], page.evaluate(MOVING))
                self.assertEqual([], page.evaluate(SMALL))
                self.assertEqual([], page.evaluate(COVERED))
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
