"""The queues of connected devices: all are asked for, in turns, and an operator sees an empty one too."""

import unittest

from guests import OperatorStage
from stage import expect
from test_timeline import run


class Turns(unittest.TestCase):
    def test_all_devices_have_their_turns(self):
        said = run("gateway-clients.js", """
            const clients = Array.from({ length: 7 }, (_, id) => ({ id }))
            const turns = []
            let last
            for (let turn = 0; turn < 3; turn += 1) {
              const some = all.nextOf(clients, last, 3).map(({ id }) => id)
              last = some.at(-1)
              turns.push(some)
            }
            console.log(JSON.stringify([turns, all.nextOf([], last), all.nextOf(clients, 'gone', 2)]))
        """)
        self.assertEqual([[[0, 1, 2], [3, 4, 5], [6, 0, 1]], [], [{"id": 0}, {"id": 1}]], said)


class Queues(OperatorStage):
    def test_operator_sees_that_nothing_waits(self):
        page = self.operator()
        expect(page.locator(".gateway .rows li").filter(has_text="this browser")).to_contain_text("0 bytes waiting to be read")
