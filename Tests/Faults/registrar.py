"""A client that makes, changes and deletes all kinds of things, and knows which changes were acknowledged."""

import http.client
import json
import random
import threading
import time
from collections import Counter

from client import Client, until
from papers import papers

# The kinds of things that a client may have, and the field that identifies each.
KINDS = {"peers": "displayName", "sessions": "maxPeers", "advertisers": "serviceType", "browsers": "serviceType",
         "invitations": "context"}
HOLDERS_MAX, PEERS_MAX, THINGS_MAX, GONE_TOKENS = 4, 4, 6, 20
# One more than is taken, so that there is something else to do. The gateway keeps 2,048 deeds.
PAPERS, DEEDS_MAX = THINGS_MAX + 1, 1000
SCOPES = ["peers", "sessions", "messages", "streams", "resources", "trust", "clients", "events", "radios"]
# An invitation that nobody has answered has failed after a restart.
OPEN = frozenset({"pending", "failed", "cancelled"})


class Lost(Exception):
    """No answer came: what was asked for is done, or it is not."""


class Thing:
    """A resource that was requested, and the states in which it may be: its fields, or None if it does not exist."""

    def __init__(self, label, *may, id=None, peer=None):
        self.label, self.may, self.id, self.peer = label, list(may), id, peer

    def settle(self, item):
        """Whether it may be in this state; from then on it is."""
        self.may = [state for state in self.may if is_so(state, item)][:1]
        self.id = item["id"] if item else None
        return bool(self.may)


def is_so(state, item):
    if state is None or item is None:
        return state is item
    return all(
        item.get(name) in value if isinstance(value, frozenset) else item.get(name) == value
        for name, value in state.items())


class Holder:
    """A client, its token, and what it has: by kind and label."""

    def __init__(self, name):
        self.name, self.client, self.id = name, None, None
        self.things = {kind: {} for kind in KINDS}

    def all(self, kind):
        return list(self.things[kind].values())


class Registrar:
    def __init__(self, gateway, chance, fault):
        self.gateway, self.chance, self.fault = gateway, random.Random(chance), fault
        self.operator = Client(gateway, gateway.operator().token)
        # Clients by name, each a thing in itself.
        self.clients, self.holders = {}, {}
        # The trust of the whole gateway, and its identities.
        self.known, self.anchors, self.identities = {}, {}, {}
        self.papers = papers(PAPERS)
        # The actions that the audit shows to operators, and their objects.
        self.deeds = []
        self.gone_tokens, self.peers = [], []
        self.number, self.done, self.checks, self.is_over = 1000, 0, 0, threading.Event()

    # Requests

    def say(self, client, method, path, body=None, good=(200, 201, 204)):
        """The response, or None if the request was refused for a reason."""
        try:
            status, said = client.once(method, path, None if body is None else json.dumps(body).encode())
        except (OSError, http.client.HTTPException):
            raise Lost from None
        if status in good:
            self.done += 1
            return json.loads(said) if said else {}
        if status not in (409, 429, 503):
            self.fault(f"{self.gateway.name}: {method} {path} {body} was answered {status}: {said.decode()}")

    def label(self, kind):
        self.number += 1
        return self.number if kind == "sessions" else f"{kind[0]}-{self.gateway.name.lower()}-{self.number}"

    def make(self, things, client, path, label, wish, *states, peer=None):
        thing = things[label] = Thing(label, None, *states, peer=peer)
        said = self.say(client, "POST", path, wish)
        if said is None:
            del things[label]
        else:
            thing.may.remove(None)
            thing.id = said.get("id") or said.get("client") or label
        return said and thing

    def change(self, client, path, thing, wish, **fields):
        thing.may.append({**thing.may[0], **fields})
        said = self.say(client, "PATCH", f"{path}/{thing.id}", wish)
        del thing.may[1 if said is None else 0]
        if said is not None and not is_so(thing.may[0], said):
            self.fault(f"{self.gateway.name}: {path}/{thing.id} was answered as {said}, and not as {thing.may[0]}")

    def delete(self, things, client, path, thing):
        thing.may.append(None)
        if self.say(client, "DELETE", f"{path}/{thing.id}") is None:
            thing.may.pop()
        else:
            del things[thing.label]
        return thing.label not in things

    # Actions

    def clients_come(self):
        if len(self.holders) >= HOLDERS_MAX:
            return
        state = {"role": "member", "scopes": SCOPES[:self.chance.randrange(2, len(SCOPES) + 1)]}
        code = self.say(self.operator, "POST", "/v1/pairing-codes", state)
        if not code:
            return
        name = self.label("clients")
        thing = self.clients[name] = Thing(name, None, state)
        said = self.say(Client(self.gateway, None), "POST", "/v1/pairings", {"code": code["code"], "name": name})
        thing.may = [state if said else None]
        if said:
            self.deeds.append(("paired", f"/v1/clients/{said['client']}"))
            holder = self.holders[name] = Holder(name)
            holder.client, thing.id = Client(self.gateway, said["token"]), said["client"]

    def clients_go(self):
        if len(self.holders) < HOLDERS_MAX:
            return
        holder = self.chance.choice(list(self.holders.values()))
        thing = self.clients[holder.name]
        path = f"/v1/clients/{thing.id}"
        if self.delete(self.clients, self.operator, "/v1/clients", thing):
            self.deeds.append(("revoked", path))
            self.leave(holder)

    def leave(self, holder):
        del self.holders[holder.name]
        self.gone_tokens = (self.gone_tokens + [holder.client])[-GONE_TOKENS:]

    def peers_come(self, holder):
        if len(holder.things["peers"]) < PEERS_MAX:
            name = self.label("peers")
            state = {"displayName": name, "lifetime": "stored", "isGateway": False}
            thing = self.make(holder.things["peers"], holder.client, "/v1/peers", name, {"displayName": name}, state)
            self.peers += [thing.id] if thing else []

    def things_go(self, holder):
        # A thing that has others is seldom deleted, so that these are lost with it now and then.
        kind = self.chance.choice(["peers"] + [kind for kind in KINDS if kind != "peers"] * 4)
        things = holder.things[kind]
        if len(things) >= (PEERS_MAX if kind == "peers" else THINGS_MAX // 2):
            thing = self.chance.choice(list(things.values()))
            if self.delete(things, holder.client, f"/v1/{kind}", thing) and kind == "peers":
                self.drop_orphans(holder)

    def things_come(self, holder):
        kind = self.chance.choice(("sessions", "advertisers", "browsers"))
        if not holder.things["peers"] or len(holder.things[kind]) >= THINGS_MAX:
            return
        peer, label = self.chance.choice(holder.all("peers")).id, self.label(kind)
        wish = {"peer": peer, KINDS[kind]: label}
        state = dict(wish)
        if kind == "sessions":
            rules = {"encryption": self.chance.choice(("required", "optional")), "trust": self.chance.choice(("any", "ask"))}
            wish |= {"history": {"keep": "durable", "count": label}, **rules}
            state |= {"locked": False, "blocked": [], "adhoc": None, **rules}
        elif kind == "advertisers":
            state |= {"discoveryInfo": {}, "state": frozenset({"starting", "advertising"})}
        self.make(holder.things[kind], holder.client, f"/v1/{kind}", label, wish, state, peer=peer)

    def things_change(self, holder):
        kind = self.chance.choice(("sessions", "advertisers"))
        if not holder.things[kind]:
            return
        thing = self.chance.choice(holder.all(kind))
        if kind == "advertisers":
            wish = {"discoveryInfo": {"number": str(self.number), "more": "x" * self.chance.randrange(50)}}
        else:
            wish = {"locked": self.chance.random() < 0.5,
                    "blocked": sorted(self.chance.sample(self.peers, min(3, len(self.peers)))),
                    "adhoc": self.chance.choice((None, self.label("nearby")))}
            wish = {name: wish[name] for name in self.chance.sample(sorted(wish), self.chance.randrange(1, 4))}
        self.change(holder.client, f"/v1/{kind}", thing, wish, **wish)
        for coming in holder.all("invitations"):
            # A peer that blocks the inviter declines what it has not answered.
            for state in coming.may if coming.peer == thing.peer else []:
                if state and state.get("from") in wish.get("blocked", []) and state["state"] == OPEN:
                    state["state"] = OPEN | {"declined"}

    def invite(self, holder):
        """An invitation from one peer to another, which is answered or cancelled."""
        open_to_all = [
            thing for thing in holder.all("sessions") if not (thing.may[0]["locked"] or thing.may[0]["blocked"])]
        if len(holder.things["peers"]) < 2 or not open_to_all or len(holder.things["invitations"]) >= 2 * THINGS_MAX:
            return
        session, things = self.chance.choice(open_to_all), holder.things["invitations"]
        to = self.chance.choice([peer.id for peer in holder.all("peers") if peer.id != session.peer])
        offers = [thing for thing in holder.all("advertisers") if thing.peer == to]
        if not offers:
            return
        type, context = offers[0].label, self.label("invitations")
        wish = {"session": session.id, "to": to, "serviceType": type, "context": context, "timeout": 3600}
        coming = things[f"incoming {context}"] = Thing(f"incoming {context}", None, {"state": OPEN}, peer=to)
        going = self.make(
            things, holder.client, "/v1/invitations", f"outgoing {context}", wish, {"to": to}, peer=session.peer)
        come = going and self.find(holder, context, lambda item: item["direction"] == "incoming" or item["state"] != "pending")
        if not come or come["direction"] == "outgoing":
            del things[coming.label]
            # A peer that is already a member, or blocks the inviter, gets no invitation.
            return going and not come and self.fault(
                f"{self.gateway.name}: nobody was told of {self.say(holder.client, 'GET', f'/v1/invitations/{going.id}')}")
        coming.may, coming.id = [{"from": session.peer, "state": OPEN}], come["id"]
        answer = self.chance.choice(("accepted", "declined", "cancelled"))
        if answer == "cancelled":
            self.change(holder.client, "/v1/invitations", going, {"state": answer}, state=answer)
            return
        into = [thing.id for thing in holder.all("sessions") if thing.peer == to]
        if answer == "accepted" and not into:
            return
        wish = {"state": answer, **({"session": into[0]} if answer == "accepted" else {})}
        self.change(holder.client, "/v1/invitations", coming, wish, state=answer)
        if coming.may[0]["state"] == answer and self.find(
                holder, context, lambda item: item["direction"] == "outgoing" and item["state"] == answer):
            going.may = [{"to": to, "state": answer}]

    def find(self, holder, context, is_it, seconds=5):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for item in (self.say(holder.client, "GET", "/v1/invitations?limit=1000") or {"items": []})["items"]:
                if item["context"] == context and is_it(item):
                    return item
            time.sleep(0.02)

    def trust(self):
        known = [state["id"] for thing in self.known.values() for state in thing.may if state]
        strange = [peer for peer in self.peers if peer not in known]
        if strange:
            name, peer = self.label("known"), self.chance.choice(strange)
            self.believe(
                self.known, "/v1/trusted-peers", name, {"peer": peer, "displayName": name}, {"id": peer, "displayName": name})

    def take_papers(self, things, path, wish):
        strange = [paper for paper in self.papers if paper.id not in things]
        if strange:
            paper = self.chance.choice(strange)
            self.believe(things, path, paper.id, wish(paper), {"id": paper.id})

    def believe(self, things, path, label, wish, state):
        """Or, the more there is, no more one of these."""
        if self.chance.random() < len(things) / THINGS_MAX:
            thing = self.chance.choice(list(things.values()))
            there = f"{path}/{thing.id}"
            if self.delete(things, self.operator, path, thing):
                self.deeds.append(("distrusted", there))
        elif self.make(things, self.operator, path, label, wish, state):
            self.deeds.append(("trusted", f"{path}/{things[label].may[0]['id']}"))

    def step(self):
        works = [
            (self.clients_come, 2), (self.clients_go, 1), (self.trust, 2),
            (lambda: self.take_papers(self.anchors, "/v1/anchors", lambda paper: paper.anchor), 2),
            (lambda: self.take_papers(self.identities, "/v1/identities", lambda paper: paper.identity), 2)]
        if self.holders:
            holder = self.chance.choice(list(self.holders.values()))
            works += [(lambda work=work: work(holder), weight) for work, weight in (
                (self.peers_come, 3), (self.things_come, 8), (self.things_change, 8), (self.things_go, 6),
                (self.invite, 6))]
        self.chance.choices([work for work, _ in works], [weight for _, weight in works])[0]()

    def work(self):
        while not self.is_over.is_set():
            try:
                self.step()
                time.sleep(self.chance.uniform(0, 0.05))
            except Lost:
                self.come_back()

    def come_back(self):
        """The gateway was killed, and comes back; it may be killed again before all that is there has been seen."""
        while True:
            starts = self.gateway.starts
            try:
                return until(self.check, f"{self.gateway.name} did not come back")
            except RuntimeError:
                if self.gateway.starts == starts:
                    raise

    # State

    def check(self):
        """Holds all that is there against what was acknowledged; False where no answer came."""
        try:
            clients = {item["name"]: item for item in self.operator.all("/v1/clients")[0]}
            names = [holder.name for holder in self.holders.values() if holder.name in clients]
            there = {name: {kind: self.holders[name].client.all(f"/v1/{kind}")[0] for kind in KINDS} for name in names}
            known, anchors, identities, audit = (
                self.operator.all(f"/v1/{kind}")[0] for kind in ("trusted-peers", "anchors", "identities", "audit"))
            away = [holder.client for holder in self.holders.values() if holder.name not in clients]
            for client in self.gone_tokens + away:
                if (status := client.once("GET", "/v1/clients/self")[0]) != 401:
                    self.fault(f"{self.gateway.name}: a token that was revoked is answered {status}")
        except (OSError, http.client.HTTPException):
            return False
        # Others, such as those who write, have names of another form.
        self.hold(self.clients, [item for item in clients.values() if item["name"].startswith("c-")], "clients", "name")
        self.hold(self.known, known, "trusted-peers", "displayName")
        self.hold(self.anchors, anchors, "anchors", "id")
        self.hold(self.identities, identities, "identities", "id")
        if untold := Counter(self.deeds[-DEEDS_MAX:]) - Counter((item["deed"], item["about"]) for item in audit):
            self.fault(f"{self.gateway.name}: of {len(self.deeds)} deeds, operators are told no more of {list(untold)[:3]}")
        for holder in list(self.holders.values()):
            if holder.name not in self.clients:
                self.leave(holder)
                continue
            self.hold(holder.things["peers"], [item for item in there[holder.name]["peers"] if not item["isGateway"]], "peers")
            self.drop_orphans(holder)
            for kind in KINDS:
                if kind != "peers":
                    self.hold(holder.things[kind], there[holder.name][kind], kind)
        self.checks += 1
        return True

    def hold(self, things, items, kind, field=None):
        there = {}
        for item in items:
            label = item[field or KINDS[kind]]
            label = f"{item['direction']} {label}" if kind == "invitations" else label
            if label in there or label not in things:
                self.fault(f"{self.gateway.name}: of {kind}, {item} is there {'twice' if label in there else 'again'}")
            there[label] = {**item, "blocked": sorted(item["blocked"])} if "blocked" in item else item
        for label, thing in list(things.items()):
            expected = thing.may
            if not thing.settle(there.get(label)):
                self.fault(f"{self.gateway.name}: of {kind}, {label} is {there.get(label)}, and was acknowledged as {expected}")
            if thing.may in ([], [None]):
                del things[label]

    def drop_orphans(self, holder):
        """A deleted peer's resources are deleted with it."""
        peers = {peer.id for peer in holder.all("peers")}
        for kind in KINDS:
            if kind != "peers":
                holder.things[kind] = {label: thing for label, thing in holder.things[kind].items() if thing.peer in peers}
