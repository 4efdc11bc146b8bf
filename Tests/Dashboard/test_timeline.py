"""The order of a session's entries, and the files that form one card: without a browser."""

import json
import os
import subprocess
import unittest

from gateway import ROOT

NODE = os.environ.get("NODE", "node")
APP = os.path.join(ROOT, "public", "app")

# The parts of a browser that the texts of the page need.
WITHOUT_BROWSER = """
  globalThis.navigator ??= {}
  Object.defineProperty(navigator, 'languages', { value: ['en'] })
  globalThis.document = { documentElement: {} }
"""


def run(module, code):
    program = f"import * as all from {json.dumps(os.path.join(APP, module))}\n{code}"
    return json.loads(subprocess.check_output([NODE, "--input-type=module", "-e", program], stderr=subprocess.DEVNULL))


class Timelines(unittest.TestCase):
    def test_entries_that_come_change_and_go_in_any_order_are_in_the_order_of_time(self):
        said = run("timeline.js", """
            let seed = 7
            const random = (end) => { seed = (seed * 16807) % 2147483647; return seed % end }
            const timeline = new all.Timeline()
            const known = new Map()
            let order = 0
            const faults = []
            for (let step = 0; step < 20000; step += 1) {
              const key = `k${random(300)}`
              const before = timeline.version
              if (random(3) === 0) {
                timeline.delete(key)
                known.delete(key)
              } else {
                const time = [random(50), 1000 + step, Infinity][random(3)]
                const old = known.get(key)
                order += 1
                known.set(key, { key, time, step, order: old?.time === time ? old.order : order })
                timeline.put({ key, time, step })
                if (timeline.version === before) faults.push('version')
              }
              if (step % 100) continue
              const wanted = [...known.values()].sort((a, b) => (a.time === b.time ? a.order - b.order : a.time - b.time))
              const is = timeline.entries.map((one) => `${one.key} ${one.step}`).join()
              if (is !== wanted.map((one) => `${one.key} ${one.step}`).join()) faults.push(step)
              for (const { key } of wanted) if (!timeline.get(key)) faults.push(key)
            }
            console.log(JSON.stringify([faults, timeline.entries.length === known.size]))
        """)
        self.assertEqual([[], True], said)

    def groups(self, resources):
        return run("file-groups.js", f"""
            const groups = all.groupFiles({json.dumps(resources)})
            console.log(JSON.stringify(groups.map(({{ files }}) => files.map(({{ copies }}) => copies.map(({{ id }}) => id).join('+')))))
        """)

    @staticmethod
    def resource(number, seconds, **more):
        return {"id": f"r{number}", "name": f"{number}.txt", "size": number, "contentType": "text/plain",
                "direction": "incoming", "from": "ben", "createdAt": f"2026-01-01T12:{seconds // 60:02}:{seconds % 60:02}.000Z", **more}

    def test_files_that_come_at_once_from_one_person_are_one_card(self):
        self.assertEqual([["r1", "r2"], ["r3"], ["r4"]], self.groups([
            self.resource(1, 0), self.resource(2, 9), self.resource(3, 9, **{"from": "cleo"}), self.resource(4, 20)]))

    def test_file_for_several_people_is_one_file_and_the_same_file_once_more_is_another(self):
        mine = {"direction": "outgoing", "from": None, "name": "a.txt", "size": 1}
        self.assertEqual([["r1+r2", "r3", "r4"], ["r5"]], self.groups([
            self.resource(1, 0, **mine, to="ben"), self.resource(2, 0, **mine, to="cleo"),
            self.resource(3, 1, **{**mine, "name": "b.txt"}, to="ben"), self.resource(4, 2, **mine, to="ben"),
            self.resource(5, 30, **mine, to="cleo")]))

    def test_same_file_that_was_sent_to_two_and_then_to_a_third_is_two_files(self):
        mine = {"direction": "outgoing", "from": None, "name": "a.txt", "size": 1}
        self.assertEqual([["r1+r2", "r3"]], self.groups([
            self.resource(1, 0, **mine, group="g", to="ben"), self.resource(2, 0, **mine, group="g", to="cleo"),
            self.resource(3, 1, **mine, group="h", to="dora")]))

    def test_hundred_files_are_several_cards(self):
        groups = self.groups([self.resource(number, 0) for number in range(100)])
        self.assertEqual([20] * 5, [len(files) for files in groups])
