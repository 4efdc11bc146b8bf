"""Messages that wait in a page, and files that a reload interrupts."""

import hashlib

from client import WEBSOCKET, ClientStage

from stage import Stage

HEARS = """
    const session = await peer.join('meet')
    session.on('message', (message) => tell(message.text))
    tell((await session.whenConnected()).displayName)
"""
JOINS = """async () => {
    const peer = await gateway.peer({ name: 'Page' })
    window.session = await peer.join('meet')
    await session.whenConnected()
    localStorage.setItem('session', session.id)
}"""
# Nobody waits for these: a page that is reloaded cannot.
SENDS = "(texts) => { for (const text of texts) session.send(text).catch(() => {}) }"
STORED = "gateway.storage.all('messages').then((all) => all.length)"


class Outbox(ClientStage):
    def setUp(self):
        super().setUp()
        self.ben = self.person(self.gateways[1].operator(), "Ben", HEARS)
        self.page = self.client_page(self.gateway)
        self.page.evaluate(JOINS)
        self.assertEqual("Page", self.ben.told())

    def heard(self, count):
        return [self.ben.told() for _ in range(count)]

    def hears_nothing_more(self):
        """A duplicate would arrive before this message."""
        self.page.evaluate("(async () => { await session.whenConnected(); await session.send('the end') })()")
        self.assertEqual("the end", self.ben.told())

    def test_messages_of_an_offline_page_go_out_once_and_in_order_when_it_is_back(self):
        self.page.context.set_offline(True)
        self.page.evaluate(SENDS, ["one", "two", "three"])
        self.assertEqual(3, self.page.evaluate("session.pending.length"))
        self.page.context.set_offline(False)
        self.assertEqual(["one", "two", "three"], self.heard(3))
        self.hears_nothing_more()
        self.assertEqual(0, self.page.evaluate(STORED))

    def test_message_whose_answer_is_lost_is_sent_once(self):
        lost = []

        def lose(route):
            route.fetch()
            lost.append(route.request.url)
            route.abort()

        self.page.route("**/messages/*", lose, times=2)
        self.page.evaluate(SENDS, ["only once"])
        # The browser's requests are answered here, and so this comes first.
        self.wait_for(self.page, "session.pending.length === 0", "the message stays in the outbox")
        self.assertEqual(["only once"], self.heard(1))
        self.assertEqual(1, len(set(lost)))
        self.hears_nothing_more()

    def test_reloaded_page_sends_what_waits_once_though_the_gateway_was_restarted_meanwhile(self):
        self.gateway.stop()
        texts = [f"message {number}" for number in range(20)]
        self.page.evaluate(SENDS, texts)
        self.wait_for(self.page, f"{STORED}.then((count) => count === 20)", "messages are not stored")
        self.open_client(self.page, self.gateway)
        self.page.evaluate("void gateway.outbox.ready")
        self.wait_for(self.page, "gateway.outbox.items.length === 20", "the outbox is empty after the reload")
        # The page comes back before its gateway does.
        self.open_client(self.page, self.gateway)
        self.page.evaluate("void gateway.outbox.ready")
        self.gateway.start()
        self.assertEqual(texts, self.heard(20))
        self.wait_for(self.page, "gateway.outbox.items.length === 0", "messages stay in the outbox")
        self.page.evaluate("(async () => { window.session = await gateway.session(localStorage.getItem('session')) })()")
        self.hears_nothing_more()
        self.assertEqual(0, self.page.evaluate(STORED))

    def test_two_tabs_of_one_person_are_one_peer_and_send_each_message_once(self):
        other = self.client_page(self.gateway, context=self.page.context)
        other.evaluate(JOINS)
        self.assertEqual(self.page.evaluate("session.id"), other.evaluate("session.id"))
        self.page.context.set_offline(True)
        self.page.evaluate(SENDS, ["one", "two"])
        self.wait_for(self.page, f"{STORED}.then((count) => count === 2)", "messages are not stored")
        self.page.context.set_offline(False)
        # This one has the same outbox, and begins with it at the same time.
        third = self.client_page(self.gateway, context=self.page.context)
        third.evaluate(JOINS)
        self.assertEqual(["one", "two"], self.heard(2))
        other.evaluate("void session.messages")
        self.wait_for(other, "session.messages.items.length === 2", "the other tab does not see what was sent")
        self.hears_nothing_more()
        peers = [peer for peer in self.gateway.ask("GET", "/v1/peers")["items"] if peer["displayName"] == "Page"]
        self.assertLessEqual(len(peers), 1)

    def test_two_tabs_that_begin_at_the_same_time_have_one_peer_and_one_session(self):
        pages = [self.client_page(self.gateway, context=self.page.context) for _ in range(2)]
        begin = """async () => {
            const peer = await gateway.peer({ name: 'Both' })
            return [peer.id, (await peer.join('both')).id]
        }"""
        for page in pages:
            page.evaluate(f"void (window.made = ({begin})())")
        self.assertEqual(*[page.evaluate("made") for page in pages])

    def test_message_that_the_gateway_refuses_is_told_and_dropped(self):
        told = self.page.evaluate("""async () => {
            const refused = gateway.outbox.events('refused').next()
            const problem = await session.send('x', { to: 'nobody' }).catch((problem) => problem)
            const { value } = await refused
            return [problem.kind, value.problem.kind, value.entry.body, session.pending.length]
        }""")
        self.assertEqual(["notConnected", "notConnected", "x", 0], told)
        full = self.page.evaluate("""async () => {
            gateway.send = () => new Promise(() => {})
            const sent = Array.from({ length: 1001 }, () => session.send('x'))
            return sent.at(-1).catch((problem) => [problem.kind, problem.rule, problem.limit])
        }""")
        self.assertEqual(["tooMany", "outbox", 1000], full)


class Resumed(ClientStage):
    """A file is made in the page, from its seed, so that a reload has the same again."""

    size = 48 << 20
    make = """
        window.file = (seed) => {
            const bytes = new Uint8Array(%d)
            for (let at = 0; at < bytes.length; at += 4096) bytes[at] = seed + at / 4096
            return new File([bytes], 'film.bin')
        }
    """ % size

    def setUp(self):
        super().setUp()
        self.ben = self.person(self.gateways[1].operator(), "Ben", """
            const { createHash } = await import('node:crypto')
            const session = await peer.join('meet')
            session.on('resource', async (resource) => {
              tell(resource.name)
              await resource.accept()
              await resource.done.catch((problem) => tell(problem.kind))
              if (resource.state !== 'complete') return
              const hash = createHash('sha256')
              for await (const bytes of await resource.stream()) hash.update(bytes)
              tell(hash.digest('hex'))
            })
            tell((await session.whenConnected()).displayName)
        """)
        self.page = self.client_page(self.gateway)
        self.page.evaluate(JOINS)
        self.assertEqual("Page", self.ben.told())
        self.pieces = []
        self.page.on("request", self.heed_request)

    def heed_request(self, request):
        if request.method == "PATCH" and request.url.endswith("/content"):
            self.pieces.append(int(request.headers["upload-offset"]))

    def whole(self, seed):
        content = bytearray(self.size)
        for at in range(0, self.size, 4096):
            content[at] = (seed + at // 4096) % 256
        return hashlib.sha256(content).hexdigest()

    def send(self, seed, to="{ to: await session.whenConnected() }"):
        self.page.evaluate(self.make)
        self.page.evaluate(f"""(async () => {{
            await session.whenConnected()
            window.resource = [await session.sendResource(file({seed}), {to})].flat()[0]
        }})()""")

    def sent_part(self, *to):
        Stage.slow_down(self.page, 8_000_000)
        self.send(7, *to)
        self.wait_for(self.page, f"resource.uploaded > {self.size // 4}", "nothing is uploaded")

    def test_p_res_5_upload_goes_on_after_a_reload_with_no_verified_byte_sent_again(self):
        self.sent_part()
        id_ = self.page.evaluate("resource.id")
        self.open_client(self.page, self.gateway)
        uploaded = self.page.evaluate(
            "(async () => (await gateway.get(`/v1/sessions/${localStorage.getItem('session')}/resources/" + id_ + "`)).uploaded)()")
        self.assertGreater(uploaded, self.size // 4)
        self.pieces.clear()
        self.page.evaluate(JOINS)
        self.send(7)
        self.assertEqual(id_, self.page.evaluate("resource.id"))
        self.page.evaluate("resource.done.then(() => {})")
        self.assertGreaterEqual(min(self.pieces), uploaded)
        self.assertEqual(["film.bin", self.whole(7)], [self.ben.told(), self.ben.told()])
        self.assertEqual([], self.page.evaluate("gateway.storage.all('uploads')"))

    def test_upload_to_all_goes_on_after_a_reload(self):
        self.sent_part("{}")
        id_ = self.page.evaluate("resource.id")
        self.open_client(self.page, self.gateway)
        self.pieces.clear()
        self.page.evaluate(JOINS)
        self.send(7, "{}")
        self.assertEqual(id_, self.page.evaluate("resource.id"))
        self.page.evaluate("resource.done.then(() => {})")
        self.assertGreater(min(self.pieces), 0)
        self.assertEqual(["film.bin", self.whole(7)], [self.ben.told(), self.ben.told()])

    def test_another_file_of_the_same_name_and_size_is_another_upload(self):
        self.sent_part()
        id_ = self.page.evaluate("resource.id")
        self.open_client(self.page, self.gateway)
        self.page.evaluate(JOINS)
        self.send(8)
        self.assertNotEqual(id_, self.page.evaluate("resource.id"))
        self.page.evaluate("resource.done.then(() => {})")
        self.assertEqual(["film.bin", self.whole(8)], [self.ben.told(), self.ben.told()])

    def test_upload_is_paused_resumed_and_cancelled(self):
        self.sent_part()
        self.page.evaluate("resource.pause()")
        # A piece that was under way is seen by then.
        self.page.evaluate("gateway.get('/v1/gateway').then(() => {})")
        paused = len(self.pieces)
        self.page.evaluate("new Promise((done) => setTimeout(done, 500))")
        self.assertEqual(paused, len(self.pieces))
        self.page.evaluate("""
            window.fractions = []
            resource.on('progress', () => fractions.push(resource.fraction))
            resource.resume()
        """)
        self.page.evaluate("resource.done.then(() => {})")
        self.assertEqual(["film.bin", self.whole(7)], [self.ben.told(), self.ben.told()])
        fractions = self.page.evaluate("fractions")
        self.assertEqual(sorted(fractions), fractions)
        self.assertEqual(1, fractions[-1])
        self.assertLess(max(self.pieces.count(piece) for piece in self.pieces), 3)
        self.send(9)
        self.wait_for(self.page, f"resource.uploaded > {self.size // 8}", "nothing is uploaded")
        told = self.page.evaluate("""(async () => {
            await resource.cancel()
            const problem = await resource.done.catch((problem) => problem)
            return [resource.state, problem.kind, await gateway.storage.all('uploads')]
        })()""")
        self.assertEqual(["cancelled", "cancelled", []], told)

    def test_upload_goes_on_when_the_gateway_is_back(self):
        self.sent_part()
        self.gateway.stop()
        self.gateway.start()
        self.page.evaluate("resource.done.then(() => {})")
        self.assertEqual(["film.bin", self.whole(7)], [self.ben.told(), self.ben.told()])


class OutboxOfAProgram(ClientStage):
    gateway_count = 1

    def test_program_with_a_storage_of_its_own_sends_what_its_last_run_left(self):
        said = self.run_node(WEBSOCKET + f"""
            const {{ memoryStorage, Vicinity }} = await import('vicinity-client')
            const begin = async (address, token, storage) => new Vicinity(address, {{ token, storage, WebSocket }})
            const first = await begin('{self.gateway.url}')
            const {{ token }} = await first.pair('{self.gateway.new_code()}', {{ name: 'Node' }})
            const sessions = []
            for (const name of ['Ada', 'Ben']) sessions.push(await (await first.peer({{ name }})).join('run'))
            const [ada, ben] = sessions
            await ada.whenConnected()
            const storage = memoryStorage()
            const away = await begin('http://127.0.0.1:1', token, storage)
            away.outbox.add({{ id: 'mine', session: ada.id, body: 'left', to: [], contentType: 'text/plain' }})
            away.close()
            console.log((await storage.all('messages')).length)
            const heard = ben.events('message').next()
            const second = await begin('{self.gateway.url}', token, storage)
            const sent = second.outbox.events('sent').next()
            console.log((await heard).value.text)
            await sent
            console.log((await storage.all('messages')).length)
            first.close()
            second.close()
        """)
        self.assertEqual(["1", "left", "0"], said.splitlines())

    def test_client_that_deletes_itself_leaves_nothing_in_its_storage(self):
        said = self.run_node(WEBSOCKET + f"""
            const {{ memoryStorage, Vicinity }} = await import('vicinity-client')
            const storage = memoryStorage()
            const gateway = new Vicinity('{self.gateway.url}', {{ storage, WebSocket }})
            await gateway.pair('{self.gateway.new_code()}', {{ name: 'Node' }})
            await storage.put('messages', {{ id: 'a', order: 1, session: 's', body: 'x', to: [] }})
            await storage.put('uploads', {{ id: 'b' }})
            await gateway.deleteSelf()
            console.log((await storage.all('messages')).length, (await storage.all('uploads')).length)
            await gateway.get('/v1/peers').catch((problem) => console.log(problem.kind))
        """)
        self.assertEqual(["0 0", "unauthorized"], said.splitlines())
