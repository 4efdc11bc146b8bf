"""Installs the package in a minimal Debian that systemd has booted, and uses it as docs/operations.md says."""

import re
import shutil
import statistics
import subprocess
import threading
import time

from kit import (
    HERE, PATIENCE_SECONDS, Client, build, code_of, commands_of_page, expect, field, note, run, the_package, until, words,
)
from package import repack

# The aim is 0.3 s until it is ready; tests run on busy machines.
PAIRED_SECONDS_MAX, EXPOSURE_MAX, READY_SECONDS_MAX = 60, 1.5, 3


class Machine:
    """A Debian that systemd has booted, as a container, on no network."""

    def __init__(self, host, place):
        self.host, self.name = host, "debian"
        host.podman(
            "run", "--detach", "--replace", "--name", self.name, "--systemd=always", "--network", "none", "--volume",
            f"{place}:/packages:ro", "--tmpfs", "/full:size=64k,mode=0777", "localhost/vicinity-machine")
        self.boot()

    def boot(self):
        self.process = self.host.process_of(self.name)
        until(lambda: re.search("running|degraded", self.sh("systemctl is-system-running || true")), "systemd has not booted")

    def reboot(self):
        self.host.podman("restart", "--time", 30, self.name)
        self.boot()

    def sh(self, line, **more):
        return self.host.podman("exec", self.name, "sh", "-ec", line, **more)

    def start(self, *command):
        """A command in a terminal, whose input is a pipe."""
        return subprocess.Popen(
            self.host.command("podman", "exec", "--interactive", self.name, *command), text=True, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def build_machine():
    """Built once for each set of dependencies; the package itself is not in it."""
    run(f"{HERE}/images", seconds=600)
    wanted = ", ".join(field(the_package(), name) for name in ("Depends", "Recommends"))
    build("vicinity-machine", "--layers", "--build-arg", f"WANTED={wanted}", "--file", f"{HERE}/machine.Dockerfile", HERE)


def check_machine(host, place):
    package, version = the_package(), field(the_package(), "Version")
    newer = re.sub(r"\d+$", lambda last: str(int(last[0]) + 1), version)
    shutil.copy(package, f"{place}/vicinity.deb")
    repack(package, f"{place}/newer.deb", {re.escape(version): newer})
    repack(package, f"{place}/foreign.deb", {"Architecture: .*": "Architecture: s390x"})
    repack(package, f"{place}/new-libc.deb", {r"libc6 \(>= [^)]*\)": "libc6 (>= 99)"})
    machine = Machine(host, place)
    client = Client(machine.process)

    first, pair, purge, second = commands_of_page(["vicinity.deb", "newer.deb"])
    install(machine, client, first, pair)
    talk(machine, client)
    check_service(machine, client)
    check_bad_inputs(machine)
    upgrade(machine, client, second, newer)
    remove(machine, client, purge)


def install(machine, client, command, pair):
    said = machine.sh("dpkg --install /packages/foreign.deb", code=None)
    expect("(s390x) does not match system" in said, f"a package of another architecture is refused by: {said}")
    said = machine.sh("apt-get install -y /packages/new-libc.deb", code=None)
    expect("libc6 (>= 99)" in said, f"a package that needs a later libc is refused by: {said}")

    started = time.monotonic()
    said = machine.sh(command)
    expect("sudo vicinity pair" in said, f"the package does not say how to pair: {said[-600:]}")
    until(client.is_ready, "the gateway is not ready after the installation")
    expect("<title>" in client.ask("GET", "/"), "there is no dashboard")
    client.pair(code_of(machine.sh(pair)))
    seconds = time.monotonic() - started
    note(f"from 'apt install' to a paired client: {seconds:.1f} s, without the download")
    expect(seconds <= PAIRED_SECONDS_MAX, f"from 'apt install' to a paired client took {seconds:.0f} s")
    expect("serve" in machine.sh("vicinity help"), "the program does not run")


def talk(machine, client):
    """A browser and a terminal, as in README's minute; there is no multicast here."""
    client.join("Ann", "adhoc")
    terminal = machine.start(
        "vicinity", "adhoc", "--name", "Tom", "--keys", "ephemeral", "--discovery", "static", "--at", "127.0.0.1:7777")
    until(client.is_connected, "a terminal is not connected with a browser")
    terminal.stdin.write("hello from a terminal\n")
    terminal.stdin.flush()
    until(lambda: "hello from a terminal" in client.bodies(), "a line of a terminal does not arrive in a browser")
    terminal.stdin.write("/quit\n")
    terminal.stdin.close()
    expect(terminal.wait(PATIENCE_SECONDS) == 0, f"'vicinity adhoc' ended with {terminal.returncode}")


def check_service(machine, client):
    for unit in ("vicinity.socket", "vicinity.service"):
        said = machine.sh(f"systemctl is-enabled {unit}; systemctl is-active {unit}")
        expect(said.split() == ["enabled", "active"], f"{unit} is {said}")
    said = machine.sh("systemd-analyze security --no-pager vicinity.service")
    exposure = float(re.search(r"level for vicinity.service: ([\d.]+)", said)[1])
    expect(exposure <= EXPOSURE_MAX, f"'systemd-analyze security' says {exposure}")
    expect(machine.sh("stat --format '%U %a' /var/lib/vicinity") == "vicinity 700\n", "others may read /var/lib/vicinity")
    status = machine.sh("cat /proc/$(systemctl show --property MainPID --value vicinity.service)/status")
    for line in (r"NoNewPrivs:\s1", r"Seccomp:\s2", r"CapEff:\s0+"):
        expect(re.search(f"^{line}$", status, re.MULTILINE), f"the sandbox of the unit is not in force: no {line}")
    note(f"systemd-analyze security: {exposure}")
    report_starts(machine, 3)
    until(client.is_ready, "the gateway is not ready after a restart")


def check_start(host, place):
    """An installation where the port is taken, and then the figures in docs/operations.md."""
    shutil.copy(the_package(), f"{place}/vicinity.deb")
    machine = Machine(host, place)
    install_at_taken_port(machine, Client(machine.process))
    machine.sh("systemctl stop vicinity.service && systemctl start vicinity.socket vicinity.service")
    report_starts(machine, 11)


def report_starts(machine, count):
    """First starts, which make keys and the store, of folders that are put away afterwards; and later ones."""
    machine.sh("systemctl stop vicinity.service; mv /var/lib/vicinity /var/lib/away; install -d /var/lib/vicinity")
    first = starts(machine, count, between="rm -rf /var/lib/vicinity/*")
    machine.sh("systemctl stop vicinity.service; rm -r /var/lib/vicinity; mv /var/lib/away /var/lib/vicinity")
    later = starts(machine, count)
    for what, seconds in (("first", first), ("later", later)):
        middle = statistics.median(seconds)
        note(f"{what} start until it is ready: {middle:.2f} s, the median of {count} ({min(seconds):.2f} to {max(seconds):.2f})")
        expect(middle <= READY_SECONDS_MAX, f"from a {what} start until it is ready it takes {middle:.1f} s")


def starts(machine, count, between="true"):
    """The seconds from each start of the process until the unit is active: the gateway has then told systemd that it is ready."""
    times = ("ExecMainStartTimestampMonotonic", "ActiveEnterTimestampMonotonic")
    said = machine.sh(f"""
        for turn in $(seq {count}); do
          systemctl stop vicinity.service; {between}
          systemctl start vicinity.service
          systemctl show --property {times[0]} --property {times[1]} vicinity.service
        done""")
    found = {name: [int(moment) for moment in re.findall(rf"^{name}=(\d+)$", said, re.MULTILINE)] for name in times}
    return [(ready - begun) / 1e6 for begun, ready in zip(*(found[name] for name in times), strict=True)]


def check_bad_inputs(machine):
    """One sentence says what is wrong, and what to do."""
    said = machine.sh("vicinity serve --port 7777 --keys ephemeral --folder /tmp/other", code=1)
    # systemd holds the socket.
    expect("port 7777 is in use by systemd (pid 1): stop that or use --port" in said, f"with a port in use it says: {said}")
    said = machine.sh("vicinity serve --port 7790 --keys /full/keys --folder /full/gateway --discovery none", code=None)
    note(f"with a full disk: {words(said)}")
    expect("make room on the disk" in said, f"with a full disk it says: {said}")
    machine.sh("systemctl stop dbus.socket dbus.service")
    said = words(machine.sh("vicinity doctor --timeout 1s --keys ephemeral", code=1))
    expect("There is no D-Bus at" in said and "/run/dbus:/run/dbus:ro" in said, f"without D-Bus the doctor says: {said}")
    machine.sh("systemctl start dbus.socket dbus.service")


class Writer:
    """Writes messages to a session, a new connection for each, until it is stopped."""

    def __init__(self, client):
        self.client, self.acknowledged, self.refusals = client, [], []
        self.is_over, self.thread = threading.Event(), threading.Thread(target=self.write, daemon=True)
        self.thread.start()

    def write(self):
        number = 0
        while not self.is_over.wait(0.01):
            number += 1
            try:
                status, text = self.client.once("PUT", f"{self.client.session}/messages/w{number}", f"w{number}")
            except Exception as error:  # whatever a client of HTTP may meet counts as refused
                self.refusals.append(repr(error))
                continue
            if status in (200, 201, 202):
                self.acknowledged.append(f"w{number}")
            # The gateway drains; a client asks again.
            elif status != 503:
                self.refusals.append(f"{status} {text[:200]}")

    def wait_for_more(self, when):
        before = len(self.acknowledged)
        until(lambda: len(self.acknowledged) > before + 30, lambda: f"no message is acknowledged {when}: {self.refusals[:3]}")

    def stop(self):
        self.is_over.set()
        self.thread.join(PATIENCE_SECONDS)


def upgrade(machine, client, command, newer):
    """An upgrade under load loses nothing, and refuses nobody."""
    other = Client(machine.process).pair(client.ask("POST", "/v1/pairing-codes", {"role": "member"})["code"])
    history = {"keep": "durable", "count": 100000}
    client.join("Ann", "talk", history)
    other.join("Ben", "talk", history)
    until(client.is_connected, "the two are not connected")
    machine.sh("echo '# mine' >>/etc/vicinity/vicinity.conf")
    writer = Writer(client)
    writer.wait_for_more("before the upgrade")
    before = len(writer.acknowledged)
    machine.sh(f"DEBIAN_FRONTEND=noninteractive {command}")
    writer.wait_for_more("after the upgrade")
    writer.stop()
    acknowledged, refusals = writer.acknowledged, writer.refusals
    expect(not refusals, f"an upgrade under load costs {len(refusals)} requests: {refusals[:3]}")
    expect(machine.sh("dpkg-query --show --showformat='${Version}' vicinity") == newer, "the upgrade is not installed")
    lost = set(acknowledged) - set(client.bodies())
    expect(not lost, f"of {len(acknowledged)} messages {len(lost)} are lost")
    until(client.is_connected, "the two are not connected after the upgrade")
    until(lambda: acknowledged[-1] in other.bodies(), "the last message does not arrive after the upgrade")
    expect("# mine" in machine.sh("cat /etc/vicinity/vicinity.conf"), "the upgrade discards changes of the configuration")
    note(f"upgrade under load: {before} messages before, {len(acknowledged)} in the end, none lost, none refused")

    said = machine.sh("apt-get install -y --allow-downgrades /packages/vicinity.deb", code=None)
    expect("may not be able to read its store" in said and "before-upgrade" in said, f"a downgrade is refused by: {said[-600:]}")
    until(client.is_ready, "the gateway does not run after a downgrade was refused")
    machine.reboot()
    client.process = machine.process
    until(client.is_ready, "the gateway does not run after a reboot")
    expect(client.is_known() and set(acknowledged) <= set(client.bodies()), "a token or messages are lost by a reboot")


def remove(machine, client, purge):
    machine.sh("apt-get remove -y vicinity")
    expect("vicinity.conf" in machine.sh("ls /etc/vicinity"), "'remove' takes the configuration")
    machine.sh("apt-get install -y /packages/vicinity.deb")
    until(client.is_ready, "the gateway is not ready when it is installed again")
    expect(client.is_known(), "a token is lost when the package is removed and installed again")

    # The steps of "Back up" in docs/operations.md.
    machine.sh("install -d -o vicinity -g vicinity -m 700 /srv/backup && mkdir -p /etc/systemd/system/vicinity.service.d")
    machine.sh("printf '[Service]\\nReadWritePaths=/srv/backup\\n' >/etc/systemd/system/vicinity.service.d/override.conf")
    machine.sh("systemctl daemon-reload && systemctl restart vicinity && vicinity backup /srv/backup/monday")

    said = machine.sh(f"DEBIAN_FRONTEND=noninteractive {purge}")
    expect("rm -r /var/lib/vicinity" in said, f"'purge' does not say that the data stay: {said[-600:]}")
    expect("gateway" in machine.sh("ls /var/lib/vicinity"), "'purge' takes the data unasked")
    machine.sh("apt-get install -y /packages/vicinity.deb")
    until(client.is_ready, "the gateway is not ready after a purge")
    expect(client.is_known(), "a token is lost by a purge that removes no data")
    said = machine.sh(f"echo yes | DEBIAN_FRONTEND=teletype {purge}")
    expect("Remove the gateway's keys" in said, f"'purge' does not ask: {said[-600:]}")
    said = machine.sh("ls -d /var/lib/vicinity /etc/vicinity /usr/share/vicinity 2>&1 || true")
    expect(said.count("No such file") == 3, f"'purge' leaves: {said}")

    machine.sh("apt-get install -y /packages/vicinity.deb && systemctl stop vicinity.socket vicinity.service && rm -r /var/lib/vicinity")
    machine.sh("install -d -o vicinity -g vicinity -m 700 /var/lib/vicinity /var/lib/vicinity/keys")
    machine.sh("cp -a /srv/backup/monday/keys /var/lib/vicinity/keys/ && cp -a /srv/backup/monday/gateway /var/lib/vicinity/")
    machine.sh("chown -R vicinity:vicinity /var/lib/vicinity && systemctl start vicinity.socket vicinity.service")
    until(client.is_ready, "the gateway is not ready with a restored backup")
    expect(client.is_known(), "a token is lost when a backup is restored")
    note("removed, installed again, purged without and with the data, restored from a backup")


def install_at_taken_port(machine, client):
    """The gateway says so, and begins when the port is free."""
    listen = "$taken = IO::Socket::INET->new(LocalPort => 7777, Listen => 5, ReuseAddr => 1) or die; sleep"
    other = machine.sh(f"perl -MIO::Socket::INET -e '{listen}' </dev/null >/dev/null 2>&1 & echo $!").strip()
    until(lambda: machine.sh("grep -q ':1E61 .* 0A ' /proc/net/tcp") == "", "perl does not listen")
    said = machine.sh("apt-get install -y /packages/vicinity.deb")
    expect("Vicinity does not run yet" in said, f"where the port is taken, the installation says: {said[-600:]}")
    said = machine.sh("journalctl --no-pager --unit vicinity.service")
    expect("port 7777 is in use by another program" in said, f"where the port is taken, the journal says: {said[-600:]}")
    machine.sh(f"kill {other}")
    until(client.is_ready, "the gateway does not begin when the port is free")
