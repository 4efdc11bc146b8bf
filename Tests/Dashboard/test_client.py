"""vicinity.js as programs and pages of one's own use it, in Node and in Chromium."""

import json
import os
import re
import socket
import threading

from client import CLIENT, GLOBAL_WEBSOCKET, WEBSOCKET, ClientStage, filled_in
from gateway import ROOT

# An environment as of Node before 22, in any version.
WITHOUT = "delete globalThis.WebSocket\n"

# Two followers of one path, and the numbers of items that each was given.
TWO_FOLLOWERS = """async (gateway, path, make) => {
  const told = { first: [], second: [], listener: [], late: [] }
  const heard = (condition) => new Promise((resolve) => {
    const look = () => { if (condition()) resolve() }
    gateway.addEventListener('told', look)
    look()
  })
  const tell = (who) => (collection) => {
    told[who].push(collection.items.length)
    gateway.dispatchEvent(new Event('told'))
  }
  const first = gateway.follow(path)
  const second = gateway.follow(path)
  first.onchange = tell('first')
  second.onchange = tell('second')
  first.addEventListener('change', () => tell('listener')(first))
  await Promise.all([first.ready, second.ready])
  await make('one')
  await heard(() => told.first.includes(1) && told.second.includes(1) && told.listener.includes(1))
  first.close()
  first.close()
  const late = gateway.follow(path)
  late.onchange = tell('late')
  await heard(() => told.late.length === 1)
  await make('two')
  await heard(() => told.second.includes(2) && told.late.includes(2))
  second.close()
  late.close()
  await gateway.get('/healthz')
  return told
}"""
# A hundred messages in a history of 64, as a follower has them and as the gateway does; five leave at once.
FULL_HISTORY = """async (gateway) => {
  const [from, to] = await Promise.all(['Anna', 'Ben'].map(async (displayName) => {
    const peer = await gateway.post('/v1/peers', { displayName })
    return gateway.post('/v1/sessions', { peer: peer.id, adhoc: 'full', history: { keep: 'memory', count: 64 } })
  }))
  const messages = gateway.follow(`/v1/sessions/${to.id}/messages`)
  const gone = []
  messages.on('del', ({ item }) => gone.push(item.id))
  await messages.ready
  const members = gateway.follow(`/v1/sessions/${from.id}/members`)
  const until = async (condition) => { while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10)) }
  await until(() => members.items.some(({ state }) => state === 'connected'))
  for (let number = 1; number <= 100; number += 1) {
    await gateway.send(from.id, String(number))
  }
  await until(() => gone.length === 40)
  const { items } = await gateway.get(`/v1/sessions/${to.id}/messages`)
  return {
    same: JSON.stringify(items) === JSON.stringify(messages.items), first: items[0].body, count: items.length,
    gone: gone.length, complete: messages.isComplete,
  }
}"""
# A message of bytes, as a listener has it and as the list has it.
BYTES = """async (gateway) => {
  const anna = await gateway.peer({ name: 'Anna', reuse: false })
  const ben = await gateway.peer({ name: 'Ben', reuse: false })
  const from = await anna.join('bytes')
  const to = await ben.join('bytes')
  const [messages, datagrams] = [to.events('message'), to.events('datagram')]
  await Promise.all([to.messages.ready, from.whenConnected(), to.whenConnected()])
  const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => index * 7)
  await from.send(bytes, { type: 'image/png' })
  await from.send('text, ü')
  const [{ value: message }, { value: text }] = [await messages.next(), await messages.next()]
  const item = to.messages.items.find(({ id }) => id === message.id)
  const stored = await gateway.get(`${to.path}/messages/${message.id}`)
  let datagram = datagrams.next()
  await from.send(bytes.slice(0, 300), { reliable: false })
  datagram = (await datagram).value
  const same = (some, others) => some.length === others.length && some.every((byte, index) => byte === others[index])
  message.bytes.fill(0)
  const told = [
    same(message.bytes, bytes), JSON.stringify(item) === JSON.stringify(stored), JSON.stringify(message) === JSON.stringify(stored),
    message.contentType, text.text, same(datagram.bytes, bytes.slice(0, 300))]
  await anna.delete()
  await ben.delete()
  gateway.close()
  return told
}"""
SAME_BYTES = [True, True, True, "image/png", "text, ü", True]
# A gateway of before there were binary messages.
OLDER_GATEWAY = """
class Older extends WebSocket {
  send(text) {
    const { id, connect } = JSON.parse(text)
    console.log(Object.keys(connect ?? {}).join(' '))
    if (!connect?.binary) return super.send(text)
    const problem = { type: '/problems/invalidParameter', status: 400, field: 'connect.binary' }
    queueMicrotask(() => this.onmessage({ data: JSON.stringify({ id, problem }) }))
  }
}
"""
EXPECTED = {"first": [0, 1], "second": [0, 1, 2], "listener": [0, 1], "late": [1, 2]}


def example():
    """The code in the comment that opens the client."""
    with open(os.path.join(CLIENT, "vicinity.js"), encoding="utf-8") as file:
        head = file.read().split("\n\n")[0]
    return "\n".join(re.findall(r"^//     (.*)", head, re.M))


class Refuser:
    """A server that gives each connection the same answer and closes it, or never answers."""

    def __init__(self, answer):
        self.answer = answer
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.kept = []

    def __enter__(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def serve(self):
        try:
            while True:
                connection = self.socket.accept()[0]
                if self.answer is None:
                    self.kept.append(connection)
                    continue
                connection.recv(65536)
                connection.sendall(self.answer)
                connection.close()
        except OSError:
            pass

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        for one in [self.socket] + self.kept:
            one.close()


class Client(ClientStage):
    gateway_count = 1

    # Tests in Node

    def test_two_followers_of_a_path_hear_of_each_change_in_node(self):
        said = self.run_node(WEBSOCKET + WITHOUT + f"""
            const {{ Vicinity }} = await import('vicinity-client')
            const gateway = new Vicinity('{self.gateway.url}', {{ WebSocket }})
            await gateway.pair('{self.gateway.new_code()}', {{ name: 'Node' }})
            await gateway.post('/v1/peers', {{ displayName: 'Node' }})
            const told = await ({TWO_FOLLOWERS})(
              gateway, '/v1/browsers', (serviceType) => gateway.post('/v1/browsers', {{ serviceType }}))
            console.log(JSON.stringify(told))
            gateway.close()
        """)
        self.assertEqual(EXPECTED, json.loads(said))

    def test_bytes_come_as_they_were_sent_in_node(self):
        said = self.run_node(GLOBAL_WEBSOCKET + f"""
            const {{ Vicinity }} = await import('vicinity-client')
            const gateway = new Vicinity('{self.gateway.url}')
            await gateway.pair('{self.gateway.new_code()}', {{ name: 'Node' }})
            console.log(JSON.stringify(await ({BYTES})(gateway)))
        """)
        self.assertEqual(SAME_BYTES, json.loads(said))

    def test_messages_that_leave_a_full_history_together_are_gone_in_node(self):
        said = self.run_node(GLOBAL_WEBSOCKET + f"""
            const {{ Vicinity }} = await import('vicinity-client')
            const gateway = new Vicinity('{self.gateway.url}')
            await gateway.pair('{self.gateway.new_code()}', {{ name: 'Node' }})
            console.log(JSON.stringify(await ({FULL_HISTORY})(gateway)))
            gateway.close()
        """)
        self.assertEqual({"same": True, "first": "41", "count": 60, "gone": 40, "complete": True}, json.loads(said))

    def test_gateway_that_knows_no_binary_messages_is_connected_to_without_them(self):
        said = self.run_node(WEBSOCKET + OLDER_GATEWAY + f"""
            const {{ Vicinity }} = await import('vicinity-client')
            const gateway = new Vicinity('{self.gateway.url}', {{ WebSocket: Older }})
            await gateway.pair('{self.gateway.new_code()}', {{ name: 'Node' }})
            await gateway.follow('/v1/peers').ready
            console.log(gateway.state)
            gateway.close()
        """)
        self.assertEqual(["token binary", "token", "", "online"], said.splitlines())

    def test_without_a_websocket_following_fails_at_once_and_says_why(self):
        said = self.run_node(WITHOUT + f"""
            const {{ Vicinity, Problem }} = await import('vicinity-client')
            const gateway = new Vicinity('{self.gateway.url}')
            await gateway.pair('{self.gateway.new_code()}', {{ name: 'Node' }})
            for (const attempt of [() => gateway.follow('/v1/peers'), () => gateway.connect()]) {{
              try {{
                attempt()
              }} catch (problem) {{
                console.log(problem instanceof Problem, problem.kind, gateway.state, problem.message)
              }}
            }}
        """)
        line = ("true unsupported idle This platform has no WebSocket, as Node before version 22 has none: pass one to the "
                "constructor, as in new Vicinity(address, { WebSocket }).")
        self.assertEqual([line, line], said.splitlines())

    def test_each_way_in_which_a_websocket_does_not_open_is_noticed_and_told(self):
        for answer in (None, b"", b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n", b"none\r\n\r\n"):
            with self.subTest(answer=answer), Refuser(answer) as refuser:
                said = self.run_node(WEBSOCKET + f"""
                    // Time passes a hundred times as fast.
                    const setTimer = setTimeout
                    globalThis.setTimeout = (action, delay) => setTimer(action, delay / 100)
                    const {{ Vicinity }} = await import('vicinity-client')
                    const gateway = new Vicinity('http://127.0.0.1:{refuser.port}', {{ WebSocket }})
                    let attempts = 0
                    gateway.addEventListener('state', () => {{
                      if (gateway.state !== 'waiting') return
                      console.log(gateway.problem.kind, gateway.problem.message.length > 20)
                      attempts += 1
                      if (attempts === 2) gateway.close()
                    }})
                    gateway.connect()
                """)
                self.assertEqual(["offline true"] * 2, said.splitlines())
        said = self.run_node("""
            const { Vicinity } = await import('vicinity-client')
            const gateway = new Vicinity('http://a:1', { WebSocket: class { constructor() { throw new Error('it is none') } } })
            gateway.connect()
            console.log(gateway.state, gateway.problem.message)
        """)
        self.assertEqual("refused A WebSocket cannot be opened: it is none\n", said)

    def test_shared_clock_knows_no_bound_between_a_join_and_a_reading_that_was_compared(self):
        said = self.run_node(f"""
            const {{ SessionClock }} = await import('{ROOT}/public/client/clock.js')
            const {{ live }} = await import('{ROOT}/public/client/live.js')
            const {{ Emitter, emit }} = await import('{ROOT}/public/client/emitter.js')
            // The gateway's clock, and whether it has been compared with that of another host.
            let [lead, synchronized, steps] = [0, true, 0]
            const asked = []
            const request = async (method, path) => {{
              asked.push(path)
              return {{ elapsedMilliseconds: performance.now() + lead, boundMilliseconds: 0.5, synchronized, steps }}
            }}
            const session = Object.assign(new Emitter(), {{ path: '/v1/sessions/a' }})
            const clock = await new SessionClock({{ [live]: {{ request }} }}, session).start()
            const pass = (time) => new Promise((resolve) => {{ setTimeout(resolve, time) }})
            const tell = () => console.log(clock.bound < 5, clock.bound, Math.abs(clock.time - performance.now() - lead) < 5)
            tell()
            // The pauses between readings are long ones by now.
            await pass(1200)
            const before = asked.length
            emit(session, 'member', {{ state: 'connecting' }})
            tell()
            // Two groups join: this host follows another's clock, which it has not read yet.
            ;[lead, synchronized] = [930, false]
            emit(session, 'member', {{ state: 'connected' }})
            tell()
            await pass(250)
            tell()
            ;[synchronized, steps] = [true, 1]
            await pass(250)
            tell()
            clock.close()
            emit(session, 'member', {{ state: 'connected' }})
            console.log(asked.length - before > 1, new Set(asked).size, asked[0])
        """)
        lines = [line.split() for line in said.splitlines()]
        self.assertEqual(["true", "true", "false", "false", "true"], [line[0] for line in lines[:5]], said)
        self.assertEqual(["Infinity", "Infinity"], [line[1] for line in lines[2:4]])
        self.assertEqual(["true", "true", "false"], [line[2] for line in lines[:3]], said)
        self.assertEqual("true", lines[4][2], said)
        self.assertEqual("true 1 /v1/sessions/a/clock", " ".join(lines[5]))

    def test_the_example_of_the_client_runs_in_node_as_printed(self):
        program = self.node(GLOBAL_WEBSOCKET + filled_in(example(), self.gateway))
        self.say_on_stage("Lights on")
        self.assertEqual("Desk: Lights on", program.line())

    # Tests in Chromium

    def test_two_followers_of_a_path_hear_of_each_change_and_share_one_subscription(self):
        page = self.page(self.gateway)
        sent = []
        page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(json.loads(frame))))
        told = page.evaluate(f"""async (code) => {{
            const {{ Vicinity }} = await import('/vicinity.js')
            const gateway = new Vicinity(location.origin)
            await gateway.pair(code, {{ name: 'Page' }})
            await gateway.post('/v1/peers', {{ displayName: 'Page' }})
            const told = await ({TWO_FOLLOWERS})(
              gateway, '/v1/browsers', (serviceType) => gateway.post('/v1/browsers', {{ serviceType }}))
            gateway.close()
            return told
        }}""", self.gateway.new_code())
        self.assertEqual(EXPECTED, told)
        channel = {"channel": "/v1/browsers"}
        asked = [frame for frame in sent if "/v1/browsers" in json.dumps(frame)]
        self.assertEqual([{"subscribe": channel}, {"unsubscribe": channel}], [
            {key: value for key, value in frame.items() if key != "id"} for frame in asked])

    def test_bytes_come_as_they_were_sent_without_base64_on_the_wire(self):
        page = self.page(self.gateway)
        came = []
        page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: came.append(frame)))
        told = page.evaluate(f"""async (code) => {{
            const {{ Vicinity }} = await import('/vicinity.js')
            const gateway = new Vicinity(location.origin)
            await gateway.pair(code, {{ name: 'Page' }})
            return await ({BYTES})(gateway)
        }}""", self.gateway.new_code())
        self.assertEqual(SAME_BYTES, told)
        bodies = [frame.partition(b"\n")[2] for frame in came if isinstance(frame, bytes)]
        self.assertEqual([70_000, 300], list(map(len, bodies)))
        self.assertFalse([frame for frame in came if isinstance(frame, str) and '"encoding":"base64"' in frame])

    def test_without_an_address_the_gateway_is_the_one_that_served_the_file(self):
        page = self.page(self.gateway)
        for path in ("/vicinity.js", "/client/vicinity.js", f"/client/{self.version}/vicinity.js"):
            address = page.evaluate("async (path) => new (await import(path)).Vicinity().address", path)
            self.assertEqual(self.gateway.url, address)

    def test_the_example_of_the_client_runs_in_chromium_as_printed(self):
        page = self.page(self.gateway)
        code = filled_in(example(), self.gateway).replace('vicinity-client', '/vicinity.js')
        page.route("**/example.js", lambda route: route.fulfill(content_type="text/javascript", body=code))
        with page.expect_console_message(lambda line: line.text == "Desk: Lights on"):
            page.evaluate("import('/example.js')")
            self.say_on_stage("Lights on")

    # Somebody else, who is on stage too

    def say_on_stage(self, text):
        gateway = self.gateway
        peer = gateway.ask("POST", "/v1/peers", {"displayName": "Desk"})["id"]
        self.addCleanup(gateway.ask, "DELETE", f"/v1/peers/{peer}")
        session = gateway.ask("POST", "/v1/sessions", {"peer": peer, "adhoc": "stage"})["id"]
        path = f"/v1/sessions/{session}/members?state=connected"
        position = gateway.ask("GET", path)
        while not position["items"]:
            gateway.ask("GET", f"{path}&since={position['position']}&wait=60")
            position = gateway.ask("GET", path)
        gateway.ask("POST", f"/v1/sessions/{session}/messages", text.encode(), kind="text/plain")
