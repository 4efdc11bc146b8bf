"""A client of a gateway that retries, for tests that break things beneath it."""

import http.client
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Dashboard"))
from gateway import PATIENCE_SECONDS, Gateway, until  # noqa: E402, F401


class Client:
    """A client with a token, which retries until there is an answer."""

    def __init__(self, gateway, token):
        self.gateway, self.token, self.line = gateway, token, None

    def once(self, method, path, body=None, kind="application/json"):
        return self.whole(method, path, body, kind)[:2]

    def whole(self, method, path, body=None, kind="application/json", more=None, timeout=20):
        if self.line is None:
            self.line = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=timeout)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if body is not None:
            headers["Content-Type"] = kind
        try:
            self.line.request(method, path, body, {**headers, **(more or {})})
            answer = self.line.getresponse()
            return answer.status, answer.read(), answer.headers
        except (OSError, http.client.HTTPException) as error:
            error.add_note(f"{method} {path} at {self.gateway.name}")
            self.line.close()
            self.line = None
            raise

    def surely(self, method, path, body=None):
        """The request is retried once, since an idle connection may have been closed."""
        try:
            return self.once(method, path, body)
        except (OSError, http.client.HTTPException):
            return self.once(method, path, body)

    def ask(self, method, path, body=None):
        status, said = self.surely(method, path, None if body is None else json.dumps(body).encode())
        if status >= 400:
            raise RuntimeError(f"{method} {path} was answered {status}: {said.decode()}")
        return json.loads(said) if said else None

    def all(self, path):
        items, after = [], ""
        while True:
            page = self.ask("GET", f"{path}?limit=1000{after}")
            items += page["items"]
            if "next" not in page:
                return items, page["position"]
            after = f"&after={page['next']}"


def come_in(gateway):
    """A client of its own, by a code that the operator makes."""
    code = gateway.new_code()
    return Client(gateway, gateway.ask("POST", "/v1/pairings", {"code": code, "name": "client"})["token"])
