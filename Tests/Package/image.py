"""Builds the image of docker/Dockerfile from base images of the same names, and runs it: alone, and by both files for compose."""

import os
import re
import shlex
import shutil
import subprocess
import time

from kit import HERE, PACKAGES, ROOT, Client, Fault, build, check_sizes, code_of, expect, note, run, until, words

FENCES = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
ON_HOST = ("--network", "host", "--volume", "/run/dbus:/run/dbus:ro", *FENCES)
DOCTOR = ("doctor", "--timeout", "1s", "--keys", "ephemeral")
END_SECONDS_MAX = 20


def build_image(from_source):
    """The image from the packages that are there; or compiled, as 'docker build' does it, by this machine's toolchain."""
    run(f"{HERE}/images", *(["swift"] if from_source else []), seconds=600)
    given = ["--build-context", f"package={PACKAGES}"]
    if from_source:
        toolchain = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("swift"))))
        given = ["--volume", f"{toolchain}:/opt/toolchain:ro"]
    build("vicinity", *given, "--file", f"{ROOT}/docker/Dockerfile", ROOT, seconds=3600)


def check_image(hosts):
    one, two = hosts
    check_sizes("image")
    client = run_one(one)
    find_from_another(client, two)
    check_bad_inputs(one, two)
    end_one(one, client)
    check_quadlet(one)
    use_compose(one)


def start(host, name):
    host.podman(
        "run", "--detach", "--stop-timeout", 30, "--volume", "state:/var/lib/vicinity", *ON_HOST, "--name", name, "localhost/vicinity")


def run_one(host):
    start(host, "gateway")
    client = Client(host.process)
    until(client.is_ready, "the gateway in the container is not ready")
    client.pair(code_of(host.podman("exec", "gateway", "vicinity", "pair")))
    host.podman("healthcheck", "run", "gateway")
    with open(f"/proc/{host.process_of('gateway')}/status", encoding="utf-8") as file:
        status = file.read()
    for line in (r"Uid:\s65534\s", r"CapEff:\s0+$", r"NoNewPrivs:\s1$", r"Seccomp:\s2$"):
        expect(re.search(f"^{line}", status, re.MULTILINE), f"in the container there is no {line} among {status}")
    said = host.podman("exec", "gateway", "bash", "-c", ">/usr/bin/other", code=None)
    expect("Read-only file system" in said, f"the container may write to itself: {said}")
    said = host.podman("exec", "gateway", "bash", "-c", "command -v swift gcc cc clang; true")
    expect(not said.strip(), f"there is a compiler in the image: {said}")
    return client


def find_from_another(client, host):
    """Discovery through the Avahi of both hosts."""
    peer = client.ask("POST", "/v1/peers", {"displayName": "Ann"})["id"]
    client.ask("POST", "/v1/advertisers", {"peer": peer, "serviceType": "shop"})
    command = ("run", "--rm", *ON_HOST, "localhost/vicinity", "peers", "shop", "--timeout", "3s", "--keys", "ephemeral")
    until(lambda: "Ann" in host.podman(*command), "a container does not find the gateway of another host")


def check_bad_inputs(one, two):
    """The doctor says which line to add."""
    said = words(two.podman("run", "--rm", *ON_HOST, "localhost/vicinity", *DOCTOR))
    expect("in a container" in said and "on a bridge" not in said, f"the doctor says: {said}")
    said = words(two.podman("run", "--rm", "--user", "7777", *ON_HOST, "localhost/vicinity", *DOCTOR, code=1))
    expect('user: "65534:65534"' in said, f"to a user that D-Bus does not know the doctor says: {said}")
    said = words(two.podman("run", "--rm", *FENCES, "localhost/vicinity", *DOCTOR, code=1))
    expect("network_mode: host" in said and "/run/dbus:/run/dbus:ro" in said, f"on a bridge the doctor says: {said}")
    said = one.podman(
        "run", "--rm", *ON_HOST, "--tmpfs", "/var/lib/vicinity:size=64k,mode=0777", "localhost/vicinity", "serve", "--port", 7790,
        "--discovery", "none", code=None)
    expect("make room on the disk" in said, f"with a full disk the gateway says: {said}")


def end_one(host, client):
    started = time.monotonic()
    host.podman("stop", "gateway")
    seconds = time.monotonic() - started
    code = host.podman("inspect", "--format", "{{.State.ExitCode}}", "gateway").strip()
    expect(code == "0" and seconds < END_SECONDS_MAX, f"SIGTERM ends it with {code} after {seconds:.0f} s")
    expect("drain" in host.podman("logs", "gateway"), "the gateway does not say that it drains")
    host.podman("rm", "gateway")
    start(host, "gateway")
    until(client.is_ready, "a new container on the same volume is not ready")
    expect(client.is_known(), "a token is lost in a new container on the same volume")
    host.podman("rm", "--force", "--time", 5, "gateway")
    note(f"ended by SIGTERM in {seconds:.1f} s; a new container continues with its volume")


def check_quadlet(host):
    """Runs and stops the container as the service does that Podman's generator makes of docker/vicinity.container."""
    build("vicinity-quadlet", "--layers", "--file", f"{HERE}/quadlet.Dockerfile", HERE)
    service = host.podman(
        "run", "--rm", "--network", "none", "--volume", f"{ROOT}/docker:/etc/containers/systemd:ro", "localhost/vicinity-quadlet")

    def command(name):
        lines = re.findall(rf"^{name}=/usr/bin/podman (.*)$", service, re.MULTILINE)
        expect(len(lines) == 1, f"the generator makes no service with one {name}= of docker/vicinity.container: {service}")
        # The host is not run by systemd, which would give the service a group of its own.
        return [word for word in shlex.split(lines[0].replace("%t", "/run").replace("%N", "vicinity")) if word != "--cgroups=split"]

    host.podman(*command("ExecStart"))
    client = Client(host.process)
    until(client.is_ready, "the gateway of vicinity.container is not ready")
    host.podman(*command("ExecStop"))
    # Podman removes it once it has ended; containers of other parts are there as well.
    until(
        lambda: not host.podman("ps", "--all", "--quiet", "--filter", "name=^vicinity$").strip(),
        "the service of vicinity.container leaves its container")
    note("vicinity.container: its service starts and stops the gateway")


def use_compose(host):
    """Compose through podman's socket, since there is no Docker engine."""
    server = subprocess.Popen(
        host.command("podman", "system", "service", "--time", "0", "unix:///run/podman.sock"), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)

    def compose(file, *arguments):
        return host.do(
            "env", "DOCKER_HOST=unix:///run/podman.sock", "docker-compose", "--project-name", "vicinity", "--file",
            f"{ROOT}/docker/{file}", *arguments)

    def end(file):
        # docker-compose 1.29 removes in an order that podman refuses, and the second time removes the rest.
        try:
            compose(file, "down", "--volumes", "--timeout", "20")
        except Fault:
            compose(file, "down", "--volumes", "--timeout", "20")

    def pair(client, service):
        name = next(name for name in host.podman("ps", "--format", "{{.Names}}").split() if service in name)
        until(client.is_ready, f"{service} is not ready")
        return client.pair(code_of(host.podman("exec", name, "vicinity", "pair")))

    try:
        until(lambda: host.do("test", "-S", "/run/podman.sock") == "", "podman does not serve")
        compose("compose.yaml", "up", "--detach", "--no-build")
        pair(Client(host.process), "gateway")
        end("compose.yaml")

        compose("compose.bridge.yaml", "up", "--detach", "--no-build")
        clients = [Client(host.process, port, secure=True) for port in (7771, 7772)]
        for client, service in zip(clients, ("ada", "ben")):
            pair(client, service).join(service.title(), "talk")
        until(clients[0].is_connected, "the two gateways of compose.bridge.yaml do not find each other")
        clients[0].ask("POST", f"{clients[0].session}/messages", "hello")
        until(lambda: "hello" in clients[1].bodies(), "a message does not arrive at the other gateway")
        end("compose.bridge.yaml")
        note("compose: a gateway on its host's network; two on a bridge found each other by static discovery, and talked")
    finally:
        server.terminate()
        server.wait(10)
