"""Certificates and their keys, as an authority makes them."""

import base64
import hashlib
import os
import ssl
import subprocess
import tempfile

PASSWORD = "secret"
AUTHORITY = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign"


class Certificate:
    """One of somebody of that name, by another one or by itself; it may vouch for others."""

    def __init__(self, name, issuer=None, vouches=False):
        with tempfile.TemporaryDirectory() as self.folder:
            self.run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj", f"/CN={name}",
                     "-keyout", "key", "-out", "own", *([] if issuer else ["-x509"]))
            if issuer:
                self.write("issuer", issuer.pem)
                self.write("issuer-key", issuer.key)
                self.write("use", AUTHORITY if vouches else "keyUsage=critical,digitalSignature")
                self.run("x509", "-req", "-in", "own", "-CA", "issuer", "-CAkey", "issuer-key", "-CAcreateserial", "-days", "30",
                         "-extfile", "use", "-out", "signed")
                os.replace(self.path("signed"), self.path("own"))
            self.pem, self.key = self.read("own").decode(), self.read("key").decode()
            self.run("pkcs12", "-export", "-in", "own", "-inkey", "key", "-passout", f"pass:{PASSWORD}", "-out", "all",
                     *(["-certfile", "issuer"] if issuer else []))
            self.identity = {"data": base64.b64encode(self.read("all")).decode(), "encoding": "base64", "password": PASSWORD}
        self.fingerprint = hashlib.sha256(ssl.PEM_cert_to_DER_cert(self.pem)).digest().hex(":")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)


def advertise_with(gateway, name, certificate):
    """A peer of the gateway's operator that shows a certificate and accepts each invitation; gives what ends it."""
    operator = gateway.operator()
    identity = operator.ask("POST", "/v1/identities", certificate.identity)["id"]
    peer = operator.ask("POST", "/v1/peers", {"displayName": name})["id"]
    session = operator.ask("POST", "/v1/sessions", {"peer": peer, "identity": identity})["id"]
    operator.ask("POST", "/v1/advertisers", {"peer": peer, "serviceType": "adhoc", "invitations": "accept", "session": session})

    def end():
        for path in (f"/v1/peers/{peer}", f"/v1/identities/{identity}"):
            operator.ask("DELETE", path)

    return end
