"""Checks the packages without installing them."""

import glob
import hashlib
import os
import re
import tempfile

from kit import PACKAGES, ROOT, check_sizes, expect, field, note, run, the_package

PROGRAM = os.environ.get("PROGRAM", os.path.join(ROOT, ".build", "release", "vicinity"))


def repack(package, target, replacements):
    """The same package with other texts in its control files."""
    with tempfile.TemporaryDirectory() as place:
        run("dpkg-deb", "--raw-extract", package, f"{place}/tree")
        for name in ("control", "preinst"):
            path = f"{place}/tree/DEBIAN/{name}"
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for pattern, replacement in replacements.items():
                text = re.sub(pattern, replacement, text)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        run("dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "--build", f"{place}/tree", target)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def check_package(place):
    package = the_package()
    check_sizes("package")
    packages = sorted(glob.glob(f"{PACKAGES}/*.deb"))
    found = run("lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", 0, *packages)
    note(f"lintian: {found.strip() or 'no error and no warning'}")

    # The second build has another time, another folder and another umask.
    os.umask(0o077)
    run(f"{ROOT}/packaging/package", f"{place}/twin", env={**os.environ, "PROGRAM": PROGRAM, "TMPDIR": place, "TZ": "Asia/Tokyo"})
    os.umask(0o022)
    for path in packages:
        expect(digest(path) == digest(f"{place}/twin/{os.path.basename(path)}"), f"{path}: packed again it has other bytes")
    note("packed twice: the same bytes")

    content = run("dpkg-deb", "--contents", package)
    commands = re.findall(r"^  ([a-z]+) {2,}", run(PROGRAM, "help").split("Commands:")[1].split("First steps:")[0], re.MULTILINE)
    expect("serve" in commands, "the commands of 'vicinity help' are not found")
    for name in (
        "usr/bin/vicinity", "(usr/)?lib/systemd/system/vicinity.service", "(usr/)?lib/systemd/system/vicinity.socket",
        "usr/lib/sysusers.d/vicinity.conf", "usr/lib/tmpfiles.d/vicinity.conf", "etc/apparmor.d/vicinity",
        "etc/vicinity/vicinity.conf", "usr/share/applications/vicinity.desktop", "usr/share/bash-completion/completions/vicinity",
        "usr/share/zsh/vendor-completions/_vicinity", "usr/share/fish/vendor_completions.d/vicinity.fish",
        "usr/share/vicinity/public/index.html", "usr/share/vicinity/openapi/vicinity.json",
        "usr/share/doc/vicinity/operations.md.gz", "usr/share/man/man1/vicinity.1.gz",
        *(f"usr/share/man/man1/vicinity-{command}.1.gz" for command in commands),
    ):
        expect(re.search(rf" \./{name}$", content, re.MULTILINE), f"there is no {name} in the package")
    bluetooth = run("dpkg-deb", "--contents", *glob.glob(f"{PACKAGES}/vicinity-bluetooth_*.deb"))
    for name in (
        "usr/libexec/vicinity-bluetooth", "(usr/)?lib/systemd/system/vicinity-bluetooth@.service",
        "(usr/)?lib/systemd/system/vicinity-bluetooth.socket",
    ):
        expect(re.search(rf" \./{name}$", bluetooth, re.MULTILINE), f"there is no {name} in the package of Bluetooth")
    links = run("readelf", "--dynamic", PROGRAM)
    expect("libbluetooth" not in links, "the gateway links libbluetooth")
    run("apparmor_parser", "--skip-kernel-load", "--skip-cache", "--quiet", f"{ROOT}/packaging/vicinity.apparmor")
    run("desktop-file-validate", f"{ROOT}/packaging/vicinity.desktop")
    expect(re.search(r"libc6 \(>= 2\.\d+\)", field(package, "Depends")), "the package does not say which libc it needs")
    # A program reads its command line from /proc.
    said = run("unshare", "--mount", "sh", "-c", f"mount -t tmpfs none /proc && exec {PROGRAM} version", code=1)
    expect("/proc is not mounted" in said, f"without /proc the program says {said}")
