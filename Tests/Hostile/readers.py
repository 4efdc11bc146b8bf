"""Readers of HTTP by other makers, each at a port of its own: nginx, Node's and Python's."""

import http.server
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))

NGINX = """
daemon off; master_process off; worker_processes 1; pid FOLDER/pid; error_log FOLDER/log crit;
events { worker_connections 512; }
http {
  access_log off; client_body_temp_path FOLDER/body; proxy_temp_path FOLDER/proxy; fastcgi_temp_path FOLDER/f; uwsgi_temp_path FOLDER/u; scgi_temp_path FOLDER/s;
  keepalive_timeout 60; keepalive_requests 100000;
  server { listen 127.0.0.1:PORT; location / { proxy_pass http://127.0.0.1:BEHIND; proxy_request_buffering on; } }
  server { listen 127.0.0.1:BEHIND; location / { return 200 "here\\n"; } }
}
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(port):
    deadline = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


class Program:
    """One that has a process, and a folder of its own."""

    reads_chunks = True
    reads_upgrades = True

    def __init__(self):
        self.port, self.folder = free_port(), tempfile.mkdtemp(prefix="vicinity-hostile-")
        self.process = subprocess.Popen(self.command(), stderr=subprocess.DEVNULL)
        wait_for(self.port)

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Nginx(Program):
    name = "nginx"

    def command(self):
        path = os.path.join(self.folder, "nginx.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(NGINX.replace("FOLDER", self.folder).replace("PORT", str(self.port)).replace("BEHIND", str(free_port())))
        return ["nginx", "-c", path, "-e", os.path.join(self.folder, "log")]


class Node(Program):
    """Node's parser leaves the bytes after a request for another protocol, its body too, to that protocol's handler."""

    name = "node"
    reads_upgrades = False

    def command(self):
        script = os.path.join(self.folder, "reader.mjs")
        shutil.copy(os.path.join(HERE, "reader.js"), script)
        return ["node", script, str(self.port)]


class Python:
    """It does not know chunks."""

    name = "python"
    reads_chunks = False
    reads_upgrades = True

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 5

        def answer(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST = answer

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_):
            pass  # what it cannot read ends its connection

    def __init__(self):
        self.server = self.Server(("127.0.0.1", 0), self.Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
