"""Certificates for a gateway's trust store, and identities for its peers."""

import base64
import hashlib
import os
import ssl
import subprocess
import tempfile

PASSWORD = "secret"


class Paper:
    """A certificate that vouches for itself, with its key; both are known by its fingerprint."""

    def __init__(self, folder, name):
        key, certificate, file = (os.path.join(folder, f"{name}.{kind}") for kind in ("key", "pem", "p12"))
        for command in (
                ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                 "-subj", f"/CN={name}", "-keyout", key, "-out", certificate],
                ["pkcs12", "-export", "-in", certificate, "-inkey", key, "-passout", f"pass:{PASSWORD}", "-out", file]):
            subprocess.run(["openssl", *command], check=True, capture_output=True)
        with open(certificate, encoding="ascii") as text, open(file, "rb") as content:
            self.pem, self.data = text.read(), base64.b64encode(content.read()).decode()
        self.id = hashlib.sha256(ssl.PEM_cert_to_DER_cert(self.pem)).hexdigest()

    @property
    def anchor(self):
        return {"pem": self.pem}

    @property
    def identity(self):
        return {"data": self.data, "encoding": "base64", "password": PASSWORD}


def papers(count):
    with tempfile.TemporaryDirectory(prefix="vicinity-papers-") as folder:
        return [Paper(folder, f"paper-{number}") for number in range(count)]
