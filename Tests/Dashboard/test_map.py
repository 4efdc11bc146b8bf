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
        for width, height in ((288, 420), (720, 560), (1300, 640)):
            for count in (0, 1, 7, 40, 1000):
                said = run("map-model.js", f"""
                    {HOME}
                    const people = Array.from({{ length: {count} }}, (_, place) => found(`p${{place}}`, place % 7 ? {{}} : {{ host: `h${{place % 3}}` }}))
                    const {{ placed, hidden }} = all.layOut(all.groupsOf(home(people)), {width}, {height})
                    const points = placed.flatMap((group) => group.people)
                    const distances = points.flatMap((a, place) => points.slice(place + 1).map((b) => Math.hypot(a.x - b.x, a.y - b.y)))
                    console.log(JSON.stringify([points, hidden, distances.length ? Math.min(...distances) : 1000]))
                """)
                points, hidden, distance = said
                with self.subTest(f"{count} people in {width} by {height}"):
                    self.assertEqual(count + 1, len(points) + hidden)
                    self.assertGreaterEqual(len(points), min(count + 1, 6))
                    self.assertLess(len(points), 120)
                    # Avatars have a diameter of 44 pixels.
                    self.assertGreater(distance, 40)
                    for point in points:
                        self.assertTrue(20 <= point["x"] <= width - 20 and 20 <= point["y"] <= height - 20, json.dumps(point))


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
