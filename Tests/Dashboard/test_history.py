"""A long session: only the entries near the window are elements, and reading up moves nothing."""

from stage import PHONE, Stage, expect

MESSAGE_COUNT = 600
DRAWN_MAX = 100
TOP = "() => { const e = document.querySelector('.scroller'); e.scrollTop = 0 }"
VISIBLE = """() => {
  const box = document.querySelector('.scroller').getBoundingClientRect()
  return [...document.querySelectorAll('.message')].map((e) => [e.querySelector('.text').textContent, e.getBoundingClientRect()])
    .filter(([, r]) => r.bottom > box.top && r.top < box.bottom).map(([text, r]) => [text, Math.round(r.top)])
}"""


class History(Stage):
    def test_hundreds_of_messages_are_few_elements_and_all_of_them_can_be_read(self):
        ada = self.enter(self.gateways[0], "Ada", size=PHONE)
        ben = self.enter(self.gateways[1], "Ben")
        self.meet(ada, "Ada", ben, "Ben")
        # The messages come from a program of Ben's, which uses the page's own token.
        ben.evaluate("""async (count) => {
          const { Vicinity } = await import('/vicinity.js')
          const gateway = new Vicinity(location.origin, { csrf: JSON.parse(localStorage.vicinity).csrf })
          const session = JSON.parse(localStorage.vicinity).session
          const say = async (number) => {
            try {
              await gateway.send(session, `message ${number}`)
            } catch (problem) {
              if (problem.kind !== 'tooMany' && problem.kind !== 'unavailable') throw problem
              await new Promise((resolve) => setTimeout(resolve, 300))
              await say(number)
            }
          }
          // Messages that are sent at once arrive in any order; the test looks for the first and the last.
          await say(1)
          for (let first = 2; first < count; first += 20) {
            await Promise.all(Array.from({ length: Math.min(20, count - first) }, (_, i) => say(first + i)))
          }
          await say(count)
        }""", MESSAGE_COUNT)
        ada.wait_for_function("() => document.querySelectorAll('.message').length > 20", timeout=60_000)
        expect(ada.locator(".log > *")).not_to_have_count(0)
        ada.reload()
        last = ada.locator(".message .text").last
        expect(last).to_have_text(f"message {MESSAGE_COUNT}")
        self.assertLessEqual(ada.locator(".log > *").count(), DRAWN_MAX)
        self.picture(ada, "history-phone")

        # The beginning is reached in steps, as heights become known.
        ada.wait_for_function(f"""() => {{ ({TOP})(); return document.querySelector('.message .text')?.textContent === 'message 1' }}""",
                              polling="raf")
        expect(ada.locator(".message .text").first).to_be_visible()
        self.assertLessEqual(ada.locator(".log > *").count(), DRAWN_MAX)
        expect(ada.get_by_role("button", name="Go to the latest message")).to_be_visible()

        # New messages do not move the ones that are being read.
        before = ada.evaluate(VISIBLE)
        self.assertGreater(len(before), 3)
        self.say(ben, "one more")
        expect(ada.locator(".way .badge").nth(1)).to_be_visible()
        expect(ada.locator(".typing")).to_be_hidden()
        self.assertEqual(before, ada.evaluate(VISIBLE))
        ada.get_by_role("button", name="Go to the latest message").click()
        expect(last).to_have_text("one more")
        expect(last).to_be_visible()
        expect(ada.get_by_role("button", name="Go to the latest message")).to_be_hidden()
