"""The client's peers and sessions, in Node and in Chromium, on two gateways and with a native peer."""

import hashlib
import json
import os
import re

from client import GLOBAL_WEBSOCKET, WEBSOCKET, ClientStage
from gateway import until
from stage import expect

# Each line of a program's input is code that it runs.
RUNS_LINES = """
import { createInterface } from 'node:readline'
createInterface({ input: process.stdin }).on('line', (line) => eval(`(async () => { ${line} })()`))
"""
JOINS = """
const session = await peer.join('meet')
session.on('message', (message) => tell(message.text))
tell((await session.whenConnected()).displayName)
"""


class Peers(ClientStage):
    def test_examples_invite_and_answer_meet_over_two_gateways(self):
        answer = self.node(GLOBAL_WEBSOCKET + self.example("answer", self.gateway))
        answer.until("Waiting")
        invite = self.node(GLOBAL_WEBSOCKET + self.example("invite", self.gateways[1].operator()))
        self.assertEqual("Echo answered { youSaid: 'Anybody there?' }", invite.line())
        self.assertEqual("Caller asks: May I join you?", answer.line())
        self.assertEqual(0, invite.process.wait(30))

    def test_examples_of_streams_and_files_run_with_each_other(self):
        for name, lines in (
            ("stream", ["Example: 1 s", "Example: 3 s"]), ("file", ["Example sent words.txt: Three words only.", "It is there."])):
            with self.subTest(name):
                programs = [self.node(GLOBAL_WEBSOCKET + self.example(name, gateway.operator())) for gateway in self.gateways]
                for program in programs:
                    while not set(lines) <= set(program.lines):
                        program.line()
                for program in programs:
                    program.close()

    def test_example_chat_talks_with_the_command_line_in_node_and_in_chromium(self):
        native = self.native("chat", "Ada")
        program = self.node(GLOBAL_WEBSOCKET + self.example("chat", self.gateway))
        program.until("Ada is connected")
        native.stdin.write("say Hello yourself\n")
        program.until("Ada: Hello yourself")
        page = self.page_with_import_map(self.example("chat", self.gateway))
        with page.expect_console_message(lambda line: line.text == "Ada: And you"):
            self.native_hears(native, "Hello", twice=True)
            native.stdin.write("say And you\n")

    @staticmethod
    def native_hears(native, text, twice=False):
        for line in native.stdout:
            said = json.loads(line)
            if said["event"] == "message" and said["text"] == text:
                if not twice:
                    return
                twice = False
        raise RuntimeError("the native peer ended")

    def page_with_import_map(self, code):
        """The page loads the client as /docs/js says, with the hashes that it shows."""
        page = self.page(self.gateway)
        page.goto(f"{self.gateway.url}/docs/js")
        head = page.locator("#page pre").inner_text()
        self.assertEqual(len(re.findall(r"sha256-", head)), len(re.findall(r"/client/[0-9.]+/[a-z-]+\.js\"?:", head)))
        page.route("**/own.html", lambda route: route.fulfill(content_type="text/html", body=f"<!doctype html>{head}"))
        page.route("**/my-page.js", lambda route: route.fulfill(content_type="text/javascript", body=code))
        page.goto(f"{self.gateway.url}/own.html")
        return page

    def test_module_that_is_not_as_the_page_of_the_client_says_is_refused(self):
        page = self.page(self.gateway)
        page.goto(f"{self.gateway.url}/docs/js")
        head = page.locator("#page pre").inner_text()
        page.route("**/own.html", lambda route: route.fulfill(content_type="text/html", body=f"<!doctype html>{head}"))
        page.route("**/my-page.js", lambda route: route.fulfill(
            content_type="text/javascript", body="await import('vicinity-client').then(() => 'taken', () => 'refused').then((said) => document.title = said)"))
        page.goto(f"{self.gateway.url}/own.html")
        expect(page).to_have_title("taken")
        page.route("**/session.js", lambda route: route.fulfill(content_type="text/javascript", body="export const sessionOf = 1"))
        page.goto(f"{self.gateway.url}/own.html")
        expect(page).to_have_title("refused")
        page.faults = []

    def test_browsing_tells_found_updated_and_lost_and_ends_with_its_loop(self):
        looking = self.person(self.gateways[1].operator(), "Looker", """
            const browser = peer.browse('mood')
            browser.on('updated', (found) => tell(['updated', found.discoveryInfo.mood]))
            browser.on('lost', (found) => tell(['lost', found.displayName]))
            for await (const found of browser) {
              tell(['found', found.displayName, found.discoveryInfo.mood])
              if (found.displayName === 'Last') break
            }
            tell((await gateway.get('/v1/browsers')).items.length)
        """)
        shown = self.person(self.gateway, "Shown", RUNS_LINES + """
            let advertiser = await peer.advertise('mood', { mood: 'sunny' })
            const again = await peer.advertise('mood', { mood: 'sunny' })
            tell(again.id === advertiser.id)
        """)
        self.assertTrue(shown.told())
        self.assertEqual(["found", "Shown", "sunny"], looking.told())
        shown.say("advertiser = await peer.advertise('mood', { mood: 'cloudy' })")
        self.assertEqual(["updated", "cloudy"], looking.told())
        shown.say("await advertiser.stop()")
        self.assertEqual(["lost", "Shown"], looking.told())
        shown.say("const last = await gateway.peer({ name: 'Last' }); await last.advertise('mood')")
        self.assertEqual(["found", "Last", None], looking.told())
        self.assertEqual(0, looking.told())

    def test_invitation_that_is_declined_or_taken_back_says_so_and_leaves_no_session(self):
        asked = self.person(self.gateways[1].operator(), "Asked", """
            await peer.advertise('ask')
            for await (const invitation of peer.invitations()) {
              tell([invitation.context, [...invitation.contextBytes]])
              if (invitation.context === 'no') await invitation.decline()
              else invitation.on('end', () => tell(invitation.state))
            }
        """)
        asking = self.person(self.gateway, "Asking", """
            for await (const found of peer.browse('ask')) {
              await peer.invite(found, { context: 'no' }).catch((problem) => tell([problem.kind, problem.message]))
              const stop = new AbortController()
              const asked = peer.invite(found, { context: new Uint8Array([255, 0]), signal: stop.signal })
              asked.catch((error) => tell(error.name))
              process.stdin.once('data', () => stop.abort())
              await asked.catch(() => {})
              break
            }
            tell((await peer.sessions()).length)
        """)
        self.assertEqual(["no", [110, 111]], asked.told())
        self.assertEqual(["declined", "Asked has declined."], asking.told())
        self.assertEqual(["/wA=", [255, 0]], asked.told())
        asking.say("")
        self.assertEqual("AbortError", asking.told())
        self.assertEqual("cancelled", asked.told())
        self.assertEqual(0, asking.told())

    def test_unreliable_messages_and_those_to_some_come_as_they_were_sent(self):
        ben = self.person(self.gateways[1].operator(), "Ben", JOINS + """
            session.on('datagram', (message) => tell([message.isReliable, [...message.bytes], message.contentType]))
        """)
        ada = self.person(self.gateway, "Ada", RUNS_LINES + JOINS)
        self.assertEqual(("Ada", "Ben"), (ben.told(), ada.told()))
        ada.say("await session.send('to Ben', { to: session.connected[0] }); await session.send({ a: 1 })")
        self.assertEqual(["to Ben", '{"a":1}'], [ben.told(), ben.told()])
        ada.say("await session.send(new Uint8Array([255]), { reliable: false, type: 'x/y' })")
        self.assertEqual([False, [255], "x/y"], ben.told())
        ada.say("await session.send('x', { to: 'o5wc677ydd4mdmqpxhdagptaha' }).catch((problem) => tell(problem.kind))")
        self.assertEqual("notConnected", ada.told())

    def test_p_str_2_slow_reader_of_a_stream_slows_its_writer(self):
        size = 64 << 20
        reader = self.person(self.gateways[1].operator(), "Reader", """
            const { createHash } = await import('node:crypto')
            const session = await peer.join('meet')
            session.on('stream', (stream) => {
              tell(stream.name)
              process.stdin.once('data', async () => {
                const hash = createHash('sha256')
                for await (const bytes of stream.readable) hash.update(bytes)
                tell(hash.digest('hex'))
              })
            })
        """)
        page = self.client_page(self.gateway)
        page.evaluate("""async (size) => {
            const peer = await gateway.peer({ name: 'Writer' })
            const session = await peer.join('meet')
            const { writable } = await session.openStream('data', await session.whenConnected())
            const writer = writable.getWriter()
            window.written = 0
            window.done = (async () => {
                for (let piece = 0; piece < size >> 16; piece += 1) {
                    await writer.write(new Uint8Array(1 << 16).fill(piece))
                    window.written += 1 << 16
                }
                await writer.close()
            })()
        }""", size)
        self.assertEqual("data", reader.told())
        # It stops where all between the two is full.
        counts = []
        until(lambda: counts.append(page.evaluate("written")) or (len(counts) > 40 and counts[-1] == counts[-40] > 0),
              "the writer goes on and on")
        self.assertLess(counts[-1], size // 2)
        reader.say("")
        page.evaluate("done")
        whole = hashlib.sha256(b"".join(bytes([piece % 256]) * (1 << 16) for piece in range(size >> 16)))
        self.assertEqual(whole.hexdigest(), reader.told())

    def test_stream_that_its_writer_aborts_is_no_whole_one_for_its_reader(self):
        reader = self.person(self.gateways[1].operator(), "Reader", """
            const session = await peer.join('meet')
            session.on('stream', async ({ readable }) => {
              try {
                for await (const bytes of readable) tell(bytes.length)
              } catch (problem) {
                tell(problem.kind)
              }
            })
        """)
        writer = self.person(self.gateway, "Writer", """
            const session = await peer.join('meet')
            const { writable } = await session.openStream('data', await session.whenConnected())
            const writer = writable.getWriter()
            await writer.write('abc')
            process.stdin.once('data', () => writer.abort())
            tell(true)
        """)
        self.assertTrue(writer.told())
        self.assertEqual(3, reader.told())
        writer.say("")
        self.assertEqual("cancelled", reader.told())


class Gaps(ClientStage):
    gateway_count = 1

    def test_missed_messages_are_told_and_end_a_loop(self):
        program = self.node(WEBSOCKET + f"""
            const {{ Vicinity }} = await import('vicinity-client')
            const tell = (value) => console.log(JSON.stringify(value))
            let isDown = false
            const sockets = new Set()
            class Cut extends WebSocket {{
              constructor(address, protocol) {{
                super(isDown ? 'ws://127.0.0.1:1' : address, protocol)
                sockets.add(this)
              }}
            }}
            const others = new Vicinity('{self.gateway.url}', {{ WebSocket }})
            await others.pair('{self.gateway.new_code()}', {{ name: 'Others' }})
            const other = await (await others.peer({{ name: 'Other' }})).join('gap')
            const gateway = new Vicinity('{self.gateway.url}', {{ WebSocket: Cut }})
            await gateway.pair('{self.gateway.new_code()}', {{ name: 'Node' }})
            const peer = await gateway.peer({{ name: 'Node' }})
            const session = await peer.join('gap', {{ history: {{ keep: 'memory', count: 3 }} }})
            const heard = []
            session.on('message', (message) => heard.push(message.text))
            session.on('gap', (gap) => tell(['gap', gap]))
            const loop = (async () => {{ for await (const message of session.events('message')) tell(message.text) }})()
            await other.whenConnected()
            await session.whenConnected()
            const first = session.events('message').next()
            await other.send('first')
            await first
            isDown = true
            const back = new Promise((resolve) => gateway.on('state', (state) => state === 'online' && resolve()))
            for (const socket of sockets) socket.close()
            // A gateway keeps the changes of a list up to 1 MiB.
            for (const letter of ['a', 'b', 'c', 'd']) await other.send(letter.repeat(400_000))
            await other.send('last')
            const isThere = ({{ items }}) => items.some((message) => message.body === 'last')
            while (!isThere(await gateway.get(`${{session.path}}/messages`)));
            isDown = false
            await back
            await loop.catch((problem) => tell(problem.kind))
            tell(heard.map((text) => text.slice(0, 5)))
            const after = session.events('message').next()
            await other.send('after')
            await after
            tell(heard.at(-1))
            gateway.close()
            others.close()
        """)
        self.assertEqual("first", program.told())
        kind, gap = program.told()
        self.assertEqual(("gap", "message"), (kind, gap["type"]))
        self.assertGreaterEqual(gap["missed"], 5)
        self.assertEqual("gap", program.told())
        self.assertEqual(["first", "ccccc", "ddddd", "last"], program.told())
        self.assertEqual("after", program.told())

    def test_collection_has_the_latest_items_and_the_list_has_all(self):
        said = self.run_node(WEBSOCKET + f"""
            const {{ Vicinity }} = await import('vicinity-client')
            const gateway = new Vicinity('{self.gateway.url}', {{ WebSocket }})
            await gateway.pair('{self.gateway.new_code()}', {{ name: 'Node' }})
            await gateway.post('/v1/peers', {{ displayName: 'Node' }})
            const make = (type) => gateway.post('/v1/browsers', {{ serviceType: type }})
            for (const type of ['a', 'b', 'c']) await make(type)
            const types = (collection) => collection.items.map((item) => item.serviceType).join('')
            const few = await gateway.follow('/v1/browsers', {{ limit: 2 }}).ready
            const all = await gateway.follow('/v1/browsers').ready
            console.log(types(few), few.isComplete, types(all), all.isComplete)
            const more = new Promise((resolve) => few.on('put', ({{ item }}) => item.serviceType === 'd' && resolve()))
            await make('d')
            await more
            console.log(types(few), few.isComplete)
            const listed = []
            for await (const item of gateway.list('/v1/browsers', {{ limit: 1 }})) listed.push(item.serviceType)
            console.log(listed.join(''))
            gateway.close()
        """)
        self.assertEqual(["bc false abc true", "cd false", "abcd"], said.splitlines())

    def test_loop_that_is_too_far_behind_throws_and_one_that_is_stopped_ends(self):
        said = self.run_node("""
            const { Emitter } = await import('vicinity-client')
            const target = new Emitter()
            const tell = (value) => target.dispatchEvent(Object.assign(new Event('tick'), { detail: value }))
            const slow = target.events('tick', { limit: 2 })
            const stop = new AbortController()
            const stopped = target.events('tick', { signal: stop.signal })
            for (const value of [1, 2, 3]) tell(value)
            stop.abort()
            const run = async (loop) => { for await (const value of loop) console.log(value) }
            await run(slow).catch((problem) => console.log(problem.kind))
            await run(stopped).catch((error) => console.log(error.name))
        """)
        self.assertEqual(["1", "2", "tooMany", "1", "2", "3", "AbortError"], said.splitlines())

    def test_attempts_are_capped_and_jittered(self):
        program = self.node("""
            const { backoff } = await import('./node_modules/vicinity-client/retry.js')
            const delays = [0, 1, 2, 5, 50].map((attempt) => Array.from({ length: 1000 }, () => backoff(attempt)))
            console.log(JSON.stringify(delays.map((some) => [Math.min(...some), Math.max(...some), new Set(some).size])))
        """)
        for (least, most, different), top in zip(program.told(), (500, 1000, 2000, 10_000, 10_000)):
            self.assertGreaterEqual(least, top / 2)
            self.assertLess(most, top)
            self.assertGreater(most - least, top / 4)
            self.assertGreater(different, 900)
