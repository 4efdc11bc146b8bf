"""Notifications, where they are wished and allowed, while nobody looks at the page."""

import re

from stage import Stage, expect

# Keeps what is shown instead of showing it, and hides the page.
RECORDER = """() => {
  window.shown = []
  class Recorder { constructor(title, { body }) { window.shown.push([title, body]) } close() {} }
  Recorder.permission = 'granted'
  Recorder.requestPermission = async () => 'granted'
  window.Notification = Recorder
}"""
# Keeps the pitch of each tone.
TONES = """() => {
  window.tones = []
  const Real = OscillatorNode
  window.OscillatorNode = class extends Real { constructor(context, options) { super(context, options); window.tones.push(options.frequency) } }
}"""
HIDE = "(hidden) => Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden })"


class Alerts(Stage):
    def test_invitation_and_message_are_notified_of_while_the_page_is_hidden_and_that_is_wished(self):
        ada = self.enter(self.gateways[0], "Ada")
        ben = self.enter(self.gateways[1], "Ben")
        ben.evaluate(RECORDER)
        ben.evaluate(HIDE, True)
        self.invite(ada, "Ben", "Unheard")
        expect(ben.locator(".ring")).to_be_visible()
        self.answer(ben, "Decline")
        self.assertEqual([], ben.evaluate("shown"))

        ben.evaluate(HIDE, False)
        self.turn(ben, "Gateway")
        ben.get_by_label("Notify me").check()
        ben.evaluate(HIDE, True)
        expect(self.neighbour(ada, "Ben")).to_contain_text("Declined")
        self.invite(ada, "Ben", "Come over")
        expect(ben.locator(".ring")).to_be_visible()
        self.assertEqual([["Ada invites you to chat", "Come over"]], ben.evaluate("shown"))
        self.answer(ben, "Accept")
        expect(self.neighbour(ada, "Ben")).to_contain_text("In this session")
        self.say(ada, "Are you there?")
        ben.wait_for_function("() => shown.length === 2")
        self.assertEqual(["1 new message", ""], ben.evaluate("shown[1]"))
        # A visible page shows the message itself and notifies of nothing.
        ben.evaluate(HIDE, False)
        expect(self.message(ben, "Are you there?")).to_be_visible()
        self.say(ada, "Good")
        expect(self.message(ben, "Good")).to_be_visible()
        self.assertEqual(2, ben.evaluate("shown.length"))

    def test_sound_is_a_choice_of_its_own_that_needs_neither_notifications_nor_https(self):
        ada = self.enter(self.gateways[0], "Ada")
        ben = self.page(self.gateways[1])
        # A page over plain HTTP from another machine has no notifications.
        ben.add_init_script("delete window.Notification; Object.defineProperty(window, 'isSecureContext', { value: false })")
        ben.reload()
        self.come_in(ben, self.gateways[1].new_code(), "Ben")
        ben.evaluate(TONES)
        self.turn(ben, "Gateway")
        expect(ben.get_by_label("Notify me")).to_have_count(0)
        ben.get_by_label("Play a sound").check()
        self.assertEqual([660, 880], ben.evaluate("tones"))
        self.picture(ben, "sound")
        ben.evaluate(HIDE, True)
        self.invite(ada, "Ben")
        expect(ben.locator(".ring")).to_be_visible()
        self.assertEqual([660, 880, 660, 880], ben.evaluate("tones"))
        ben.evaluate(HIDE, False)
        ben.get_by_label("Play a sound").uncheck()
        ben.evaluate(HIDE, True)
        self.answer(ben, "Accept")
        expect(self.neighbour(ada, "Ben")).to_contain_text("In this session")
        self.say(ada, "Are you there?")
        expect(ben).to_have_title(re.compile(r"^\(1\)"))
        self.assertEqual(4, ben.evaluate("tones.length"))
