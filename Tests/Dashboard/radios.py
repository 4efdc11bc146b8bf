"""The radios of a machine that has some, as its gateway tells a page of them: the machine of the tests need not have one."""

import json

GROUP = {
    "kind": "group", "interface": "p2p-wlan0-0", "name": "DIRECT-xy-vicinity", "password": "PXsgN9is", "frequency": 2412, "members": 0,
    "stations": [], "addressing": "dhcp", "isAbandoned": False, "code": "WIFI:T:WPA;S:DIRECT-xy-vicinity;P:PXsgN9is;;",
    "url": "http://192.168.49.1:7777"}
PIXEL = {"hardwareAddress": "9e:2a:00:01:ff:07", "address": "192.168.49.10", "name": "Pixel-7"}


def radio(name="wlan0", **more):
    return {"id": name, "state": "idle", "kinds": ["group", "mesh"], "isManaged": False, **more}


def problem(kind, status, rule):
    return {"type": f"/problems/{kind}", "title": kind, "status": status, "detail": "In English.", "rule": rule}


class Radios:
    """The radios of a machine, as a gateway tells of them."""

    def __init__(self, *radios):
        self.radios = list(radios)
        self.problem = None
        # The answers to the next wishes, in place of a network.
        self.refusals = []
        self.wishes = []
        self.looks = 0

    def serve(self, page):
        page.route("**/v1/radios", self.list)
        page.route("**/v1/radios/*/network", self.change)

    def list(self, route):
        self.looks += 1
        route.fulfill(json={"items": self.radios, **({"problem": self.problem} if self.problem else {})})

    def change(self, route):
        name = route.request.url.split("/")[-2]
        place = next(place for place, one in enumerate(self.radios) if one["id"] == name)
        if route.request.method == "DELETE":
            self.wishes.append({"end": name})
            self.radios[place] = radio(name)
            return route.fulfill(status=204)
        wish = json.loads(route.request.post_data)
        self.wishes.append(wish)
        if self.refusals:
            refusal = self.refusals.pop(0)
            return route.fulfill(status=refusal["status"], json=refusal, content_type="application/problem+json")
        network = GROUP if wish["kind"] == "group" else {
            key: value for key, value in {**GROUP, **wish, "addressing": "linkLocal", "interface": name}.items()
            if key not in ("code", "url", "force") and (key in wish or key != "password")}
        self.radios[place] = radio(name, state="network", network=network)
        return route.fulfill(status=201, json=network)
