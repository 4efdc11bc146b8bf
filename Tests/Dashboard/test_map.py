"""The map: computers, their people, the traffic between them, and the members of a session."""

import functools
import json
import re
import unittest

from gateway import until
from stage import PHONE, Stage, expect
from test_timeline import run

HOME = """
  const home = (nearby, members = []) => ({
    about: { host: 'own', name: 'Stage' }, me: { id: 'me', displayName: 'Ada' }, nearby,
    rooms: [{ id: 'room', people: members }],
  })
  const found = (id, more) => ({ id, displayName: id, ...more })
  const member = (peer, carriedBy, more) => ({ id: `m-${peer}`, peer, displayName: peer, state: 'connected', carriedBy, ...more })
"""


# Draws the map of a home that has as many other computers as is said; every third has several people.
DRAW = """async (count) => {
  const { mapPage } = await import('./app/map.js')
  document.querySelector('#drawn')?.remove()
  const names = ['Ada', 'Benjamin Britten of Aldeburgh', 'Cara', 'Wolfgang', 'Wilhelmina', 'Li']
  const hosts = Array.from({ length: count }, (_, place) => `h${place}`)
  const member = (host, place, number) => (
    { id: `m${host}${number}`, peer: `${host} ${number}`, displayName: names[(place + number) % 6], state: 'connected', carriedBy: host })
  const sizes = [1, 1, 2, 1, 1, 3, 1, 1, 6]
  const members = hosts.flatMap((host, place) => Array.from({ length: sizes[place % 9] }, (_, number) => member(host, place, number)))
  const collection = { on: () => () => {}, items: [] }
  const room = { id: 'room', people: members, present: [], connected: [], messages: collection, datagrams: collection, resources: collection }
  const links = { items: hosts.map((host) => ({ host, medium: 'lan', roundTripMilliseconds: 1234, standby: false })) }
  const home = {
    about: { host: 'own', name: 'Raspberry Pi in the kitchen' }, me: { id: 'me', displayName: 'Ada' }, nearby: [], rooms: [room], room: null,
    gateway: { get: async () => links }, changed: () => map.update(),
  }
  const element = document.createElement('section')
  element.id = 'drawn'
  element.className = 'sheet map'
  element.style.cssText = 'position: fixed; inset: 0; max-height: 100%; background: var(--ground)'
  document.body.append(element)
  const map = mapPage(home, element)
  window.removeMap?.()
  window.removeMap = map.removed
}"""
# Things that lie on others, or outside of the field, where somebody is pointed at.
OVERLAPS = """() => {
  const box = (e) => e.getBoundingClientRect()
  const all = (selector) => [...document.querySelectorAll(`#drawn ${selector}`)].filter((e) => e.tagName !== 'text' || e.textContent)
  const circle = (e) => ({ e, x: (box(e).left + box(e).right) / 2, y: (box(e).top + box(e).bottom) / 2, radius: box(e).width / 2 })
  const field = box(document.querySelector('#drawn .field'))
  const computers = all('.computers circle').map(circle)
  const avatars = all('.person circle').map(circle)
  const faults = new Set()
  const fault = (what, ...some) => faults.add([what, ...some.map((e) => e.textContent || `${e.parentElement.textContent} (${e.tagName})`)].join(': '))
  const pairs = (some, look) => some.forEach((a, place) => some.slice(place + 1).forEach((b) => look(a, b)))
  const isApart = (a, b) => Math.hypot(a.x - b.x, a.y - b.y) >= a.radius + b.radius
  // The box of a text is higher than its letters.
  const isBeside = (text, { x, y, radius }) => {
    const { left, right, top, bottom } = box(text)
    return Math.hypot(Math.max(left - x, 0, x - right), Math.max(top + 2 - y, 0, y - bottom + 2)) >= radius
  }
  const lookAtTexts = (texts) => pairs(texts, (a, b) => {
    const isFree = box(a).right <= box(b).left || box(b).right <= box(a).left || box(a).bottom - 2 <= box(b).top + 2 || box(b).bottom - 2 <= box(a).top + 2
    if (!isFree) fault('texts', a, b)
  })
  for (const some of [computers, avatars]) pairs(some, (a, b) => isApart(a, b) || fault('circles', a.e, b.e))
  for (const one of computers) {
    const isInside = one.x - one.radius >= field.left && one.x + one.radius <= field.right && one.y - one.radius >= field.top && one.y + one.radius <= field.bottom
    if (!isInside) fault('outside', one.e)
  }
  for (const name of all('.name')) {
    if (computers.filter((one) => !isBeside(name, one)).length !== 1) fault('name of no or several computers', name)
    for (const one of avatars) if (!isBeside(name, one)) fault('name on an avatar', name, one.e)
  }
  for (const person of avatars) if (!computers.some((one) => Math.hypot(one.x - person.x, one.y - person.y) + person.radius <= one.radius)) fault('outside of its computer', person.e)
  const lookAtLabels = () => {
    const labels = all(':is(.place, .trip)')
    for (const label of labels) for (const one of computers) if (!isBeside(label, one)) fault('label on a computer', label, one.e)
    lookAtTexts([...labels, ...all('.name')])
  }
  let trips = 0
  for (const person of all('.person')) {
    person.dispatchEvent(new PointerEvent('pointerenter'))
    if (box(document.querySelector('#drawn .field')).height !== field.height) fault('field that changes', person)
    if (all('.trip').length > 0) trips += 1
    lookAtLabels()
  }
  return { faults: [...faults], trips, computers: computers.length, people: avatars.length }
}"""


class Model(unittest.TestCase):
    def groups(self, expression, links="[]", reach="{}"):
        return run("map-model.js", f"""
            {HOME}
            const [links, reach] = [{links}, {reach}]
            const one = {expression}
            console.log(JSON.stringify(all.groupsOf(one, one.rooms[0], new Map(links), (peer) => reach[peer] ?? {{}}).map((group) => ({{
              ...group, people: group.people.map((person) => `${{person.name}} ${{person.state}}`) }}))))
        """)

    def test_people_are_with_the_computer_that_carries_them(self):
        groups = self.groups("""home(
            [found('Ben'), found('Cara'), found('Dora'), found('me')],
            [member('Ben', 'h1'), member('Eve', 'h1', { suspended: true }),
             member('Fay', 'own'), member('Gus', 'h2', { state: 'notConnected' })])""",
            "[['h1', { medium: 'bluetooth', roundTripMilliseconds: 12 }]]")
        self.assertEqual(
            [["Ada connected", "Fay connected"], ["Ben connected", "Eve suspended"], ["Cara found"], ["Dora found"]],
            [group["people"] for group in groups])
        hub, other, cara, _ = groups
        self.assertTrue(hub["isHub"])
        self.assertEqual(("bluetooth", 12, True, False, True), tuple(
            other[name] for name in ("medium", "roundTrip", "isConnected", "isSuspended", "isLit")))
        # The gateway knows neither medium nor round trip of this person.
        self.assertEqual((None, None, False, False), tuple(cara[name] for name in ("medium", "roundTrip", "isConnected", "isLit")))

    def test_found_people_are_with_the_computer_by_which_they_are_reached(self):
        groups = self.groups(
            "home([found('Ben'), found('Cara'), found('Dora')], [member('Ben', 'h1')])",
            "[['h1', { medium: 'lan', roundTripMilliseconds: 1, standby: ['bluetooth'], rate: 5000 }]]",
            "{ Cara: { host: 'h1', medium: 'lan', roundTrip: 2 }, Dora: { host: 'h2', medium: 'bluetooth', roundTrip: 30 } }")
        self.assertEqual(
            [["Ada connected"], ["Ben connected", "Cara found"], ["Dora found"]], [group["people"] for group in groups])
        said = [[group[name] for name in ("medium", "roundTrip", "standby", "rate")] for group in groups[1:]]
        self.assertEqual([["lan", 1, ["bluetooth"], 5000], ["bluetooth", 30, [], 0]], said)

    def test_traffic_of_a_computer_is_that_of_all_links_to_it_but_for_their_heartbeats(self):
        said = run("links.js", """
            const link = (host, bytesSent, more) => ({ host, medium: 'lan', standby: false, bytesSent, bytesReceived: 500, ...more })
            const before = all.groupLinks([link('a', 0), link('b', 7), link('c', 9000)], new Map(), 5)
            const after = all.groupLinks([
              link('a', 20_000, { standby: true, medium: 'bluetooth' }), link('a', 30_000), link('b', 2000), link('c', 10), link('d', 9000),
            ], before, 2)
            console.log(JSON.stringify([[...before.values()].map(({ rate }) => rate), [...after].map(([host, { rate, standby }]) => [host, rate, standby])]))
        """)
        self.assertEqual([[0, 0, 0], [["a", 25_250, ["bluetooth"]], ["b", 0, []], ["c", 0, []], ["d", 0, []]]], said)

    def test_places_are_inside_and_apart_and_who_has_none_is_counted(self):
        for width, height in ((288, 280), (288, 420), (720, 560), (1300, 640)):
            for count in (0, 1, 7, 40, 1000):
                people, hidden, apart = run("map-model.js", f"""
                    {HOME}
                    const people = Array.from({{ length: {count} }}, (_, place) => found(`p${{place}}`, place % 7 ? {{}} : {{ host: `h${{place % 3}}` }}))
                    const groups = all.groupsOf(home(people)).map((group) => (
                      {{ ...group, label: group.isHub ? 'Stage' : '', people: group.people.map((one) => ({{ ...one, label: one.name }})) }}))
                    const measure = (text) => 8 * text.length
                    const {{ placed, hidden }} = all.layOut(groups, {{ width: {width}, height: {height}, measure }})
                    const gaps = placed.flatMap((a, place) => placed.slice(place + 1).map((b) => Math.hypot(a.x - b.x, a.y - b.y) - a.radius - b.radius))
                    const isInside = ({{ x, y, radius }}) => x > radius && y > radius && x < {width} - radius && y < {height} - radius
                    console.log(JSON.stringify([
                      placed.flatMap((group) => group.people).length, hidden, placed.every(isInside) && gaps.every((gap) => gap > 0)]))
                """)
                with self.subTest(f"{count} people in {width} by {height}"):
                    self.assertEqual(count + 1, people + hidden)
                    self.assertGreaterEqual(people, min(count + 1, 6 if height > 280 else 4))
                    self.assertLess(people, 160)
                    self.assertTrue(apart)


class Map(Stage):
    def test_people_and_their_computers_are_drawn_and_a_session_is_lit(self):
        ada = self.enter(self.gateways[0], "Ada")
        others = {name: self.enter(self.gateways[1], name) for name in ("Ben", "Cara", "Dora")}
        others["Eve"] = self.enter(self.gateways[0], "Eve")
        for name in ("Ben", "Eve"):
            self.invite(ada, name)
            self.answer(others[name], "Accept")
            expect(self.neighbour(ada, name)).to_contain_text("In this session")
        self.turn(ada, "Map")
        person = ada.locator(".person")
        expect(person).to_have_count(5)
        expect(ada.locator(".map")).to_contain_text("2 computers · 4 people nearby")
        # Those who were only found are with the computer that carries them.
        expect(ada.locator(".ways-between path")).to_have_count(1)
        expect(ada.locator(".ways-between [data-state=connected]")).to_have_count(1)
        expect(ada.locator(".person[data-lit]")).to_have_count(3)
        self.picture(ada, "map")
        # The keyboard reaches everyone.
        person.first.focus()
        expect(ada.locator(".details")).to_contain_text("You, Ada · on “Stage”")
        ada.keyboard.press("End")
        expect(ada.locator(".details")).to_contain_text("Dora · one of 3 people on one computer · Nearby, not connected · Local network · round trip")
        person.filter(has_text="Ben").hover()
        expect(ada.locator(".details")).to_contain_text("Ben · one of 3 people on one computer · Connected")
        # Both gateways are on this machine, and the system has measured their link.
        expect(ada.locator(".details")).to_contain_text(re.compile(r"Local network · round trip .*ms"))
        # Traffic makes the way wide while it lasts.
        way = ada.locator(".ways-between [data-state=connected]")
        expect(way).to_have_attribute("stroke-width", "2.0")
        before = float(way.get_attribute("stroke-width"))
        self.turn(others["Ben"], "Sessions")
        others["Ben"].get_by_role("textbox", name="Message").fill("a" * 3000)
        others["Ben"].get_by_role("textbox", name="Message").press("Enter")
        ada.wait_for_function(
            "(before) => Number(document.querySelector('.ways-between [data-state=connected]').getAttribute('stroke-width')) > before + 1",
            arg=before)
        self.picture(ada, "map-busy")
        self.look_at_media(ada, way)
        self.look_at_standby(ada)
        ada.get_by_role("button", name="Ben and Eve").click()
        expect(ada.locator(".person[data-lit]")).to_have_count(0)

    def test_computers_names_and_round_trips_lie_apart_at_every_size(self):
        page = self.page(self.gateways[0])
        for width, height, all_from in ((320, 640, 3), (390, 844, 6), (600, 800, 6), (899, 620, 12), (1280, 800, 30), (1600, 900, 30), (2560, 1440, 30)):
            page.set_viewport_size({"width": width, "height": height})
            for count in (0, 1, 2, 3, 6, 12, 20, 30):
                page.evaluate(DRAW, count)
                # The links, with their round trips, are asked for once it is there.
                page.wait_for_function("(selector) => document.querySelector(`#drawn ${selector}`)", arg="[data-medium=lan]" if count else ".person")
                said = page.evaluate(OVERLAPS)
                if width in (390, 1280) and count in (3, 12):
                    self.picture(page, f"map-of-{count}-{width}")
                with self.subTest(f"{count} computers, {width} by {height}"):
                    self.assertEqual([], said["faults"])
                    self.assertGreaterEqual(said["computers"], 1 + min(count, all_from))
                    # One computer has room for the round trip beside it.
                    self.assertTrue(said["trips"] > 0 or count == 0 or count > all_from, said)

    def look_at_media(self, page, way):
        """Each medium has its colour, on the map as in its legend."""
        expect(way).to_have_attribute("data-medium", "lan")
        colours = {"lan": way.evaluate("(e) => getComputedStyle(e).stroke")}
        for medium in ("wifi", "bluetooth", "relay", "federation", "local"):
            page.unroute("**/v1/links")
            page.route("**/v1/links", functools.partial(self.by, medium))
            # The map asks at once when it is opened.
            self.turn(page, "Console")
            self.turn(page, "Map")
            expect(way).to_have_attribute("data-medium", medium)
            colours[medium] = way.evaluate("(e) => getComputedStyle(e).stroke")
            key = page.locator(f".legend [data-medium={medium}]")
            self.assertEqual(colours[medium], key.evaluate("(e) => getComputedStyle(e).borderTopColor"))
            if medium == "bluetooth":
                self.picture(page, "map-bluetooth")
        self.assertEqual(len(colours), len(set(colours.values())), colours)
        page.unroute_all(behavior="wait")

    def look_at_standby(self, page):
        """A second link to a computer, which would take over, is drawn beside the one in use."""
        page.route("**/v1/links", self.with_standby)
        standby = page.locator(".ways-between [data-state=standby]")
        expect(standby).to_have_attribute("data-medium", "bluetooth")
        expect(page.locator(".legend")).to_contain_text("Standby connection")
        page.locator(".person").filter(has_text="Ben").hover()
        expect(page.locator(".details")).to_contain_text("standby: Bluetooth")
        self.picture(page, "map-standby")
        page.unroute_all(behavior="wait")
        expect(standby).to_have_count(0)

    @staticmethod
    def with_standby(route):
        answer = route.fetch()
        links = answer.json()
        links["items"] += [{"host": link["host"], "medium": "bluetooth", "standby": True} for link in links["items"]]
        route.fulfill(response=answer, json=links)

    def test_bytes_of_streams_are_traffic_too(self):
        page, ben = self.enter(self.gateways[0], "Ada"), self.enter(self.gateways[1], "Ben")
        self.meet(page, "Ada", ben, "Ben")
        self.turn(page, "Map")
        way = page.locator(".ways-between path")
        expect(way).to_have_attribute("stroke-width", "2.0")
        # A stream of other peers over the same link: no session of this page has its bytes.
        tap, sink = (self.pipe(gateway) for gateway in self.gateways)
        gateway, path = self.gateways[0], f"/v1/sessions/{tap['id']}"
        until(lambda: any(one["state"] == "connected" for one in gateway.ask("GET", f"{path}/members")["items"]), "the two did not meet")
        stream = gateway.ask("POST", f"{path}/streams", {"name": "pipe", "to": sink["peer"]})
        gateway.ask("PUT", f"{path}/streams/{stream['id']}/bytes", bytes(48_000), "application/octet-stream")
        expect(way).to_have_attribute("data-busy", "yes")

    def pipe(self, gateway):
        """The session of a program's peer, which nobody's page shows."""
        peer = gateway.operator().ask("POST", "/v1/peers", {"displayName": "Pipe"})["id"]
        self.addCleanup(gateway.ask, "DELETE", f"/v1/peers/{peer}")
        return gateway.ask("POST", "/v1/sessions", {"peer": peer, "adhoc": "pipes"})

    @staticmethod
    def by(medium, route):
        answer = route.fetch()
        links = answer.json()
        for link in links["items"]:
            link["medium"] = medium
        route.fulfill(response=answer, json=links)

    def test_phone_reaches_the_map_from_who_is_nearby(self):
        ada = self.enter(self.gateways[0], "Ada", size=PHONE, dark=True)
        for name in ("Ben", "Cara Oberhuber-Lindemann"):
            self.enter(self.gateways[1], name)
        expect(self.neighbour(ada, "Cara")).to_be_visible()
        ada.locator(".nearby").get_by_role("link", name="Map").click()
        expect(ada.locator(".person")).to_have_count(3)
        self.picture(ada, "map-phone")
