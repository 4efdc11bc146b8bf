"""The machine of the radio lab: Debian's kernel, which has Bluetooth and 802.11 with simulated radios, and Debian's programs, in an
initramfs. Packages are downloaded and unpacked, never installed."""

import glob
import hashlib
import lzma
import os
import re
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent

# The kernel of bookworm itself (6.1) crashes at a Bluetooth connection to a device that does not answer, and stops an adapter while a
# program blocks in recv() on an L2CAP socket.
RELEASE, KERNEL = "bookworm-backports", r"^linux-image-6\.12\.[0-9]+\+deb12-amd64$"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

PACKAGES = """busybox-static dash util-linux coreutils grep sed mawk kmod bluez bluez-test-tools bluez-tools libbluetooth3 dbus-daemon
  dbus-bin iw wpasupplicant wireless-regdb iproute2 iputils-ping avahi-daemon avahi-utils libnss-mdns libc6""".split()
# Scripts of these would want programs that the guest has not.
LEFT_OUT = re.compile(r"perl|initramfs-tools|linux-base|klibc|^dpkg_|python")

PROGRAMS = """busybox dash date timeout env setsid nsenter unshare seq dd sha256sum grep sed mawk kmod bluetoothd btvirt bluetoothctl
  btmon bt-agent btattach hciconfig hcitool sdptool rfcomm l2ping dbus-daemon dbus-send iw wpa_supplicant wpa_cli ip ping avahi-daemon
  avahi-browse""".split()
# Loaded by name while a program runs.
PLUGINS = ["libnss_files.so.2", "libnss_mdns4_minimal.so.2", "libgcc_s.so.1"]
# Parts of the C library that the tested program needs.
PLUGINS += [f"lib{name}" for name in ("m.so.6", "dl.so.2", "rt.so.1", "pthread.so.0", "resolv.so.2")]
MODULES = """virtio_pci virtio_net virtio_console 9p 9pnet_virtio veth bridge af_packet drbg jitterentropy_rng ecdh_generic algif_hash
  algif_skcipher cmac ccm gcm ctr cbc sha512_generic hmac bluetooth rfcomm bnep hci_vhci hci_uart cfg80211 mac80211 mac80211_hwsim""".split()
FOLDERS = ["/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/lib64", "/usr/lib", "/lib", "/usr/libexec/bluetooth"]
CONFIGURATION = [
    "/usr/share/dbus-1/system.conf", "/usr/share/dbus-1/system.d", "/etc/dbus-1/system.d", "/etc/avahi", "/etc/bluetooth",
    "/usr/lib/locale/C.utf8",
]


def run(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, **more)


def output(*words):
    return run(*words, capture_output=True, text=True).stdout


class Guest:
    """The kernel and the initramfs, in a folder that keeps them until this file changes."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.root, self.kernel_root = self.folder / "root", self.folder / "kernel-package"
        self.kernel, self.initramfs = self.folder / "vmlinux", self.folder / "initramfs.cpio"

    def make(self):
        """Makes what is missing, and returns whether anything was."""
        digest = hashlib.sha256(Path(__file__).read_bytes() + (HERE / "init").read_bytes()).hexdigest()
        mark = self.folder / "made-by"
        if mark.exists() and mark.read_text() == digest:
            return False
        self.folder.mkdir(parents=True, exist_ok=True)
        self.fetch()
        self.extract_kernel()
        self.pack()
        mark.write_text(digest)
        return True

    # Packages

    def fetch(self):
        packages, empty = self.folder / "packages", self.folder / "status"
        (packages / "partial").mkdir(parents=True, exist_ok=True)
        empty.write_text("")
        if not list(packages.glob("linux-image-6.12*_amd64.deb")):
            self.fetch_kernel(packages, empty)
        # An empty status file makes apt download all that the packages depend on.
        run(
            "apt-get", "-y", "-qq", "--no-install-recommends", "-o", f"Dir::State::status={empty}", "-o", "Debug::NoLocking=1",
            "-o", f"Dir::Cache::archives={packages}", "-o", "APT::Keep-Downloaded-Packages=true",
            "-o", "APT::Sandbox::User=root", "--download-only", "install", *PACKAGES)
        for folder in (self.root, self.kernel_root):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for package in sorted(packages.glob("*.deb")):
            if package.name.startswith("linux-image-"):
                run("dpkg", "-x", package, self.kernel_root)
            elif not LEFT_OUT.search(package.name):
                run("dpkg", "-x", package, self.root)

    def fetch_kernel(self, packages, empty):
        """apt uses package lists of its own: those of the machine stay as they are."""
        sites = output("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").split()
        site = next(site for site in sites if "security" not in site)
        lists = self.folder / "lists"
        (lists / "partial").mkdir(parents=True, exist_ok=True)
        source = self.folder / "sources.list"
        source.write_text(f"deb [signed-by={KEYRING}] {site} {RELEASE} main\n")
        options = []
        for option in (
            f"Dir::Etc::sourcelist={source}", "Dir::Etc::sourceparts=-", f"Dir::State::lists={lists}",
            f"Dir::State::status={empty}", "Dir::Cache::pkgcache=", "Dir::Cache::srcpkgcache=", "APT::Sandbox::User=root",
        ):
            options += ["-o", option]
        run("apt-get", *options, "-qq", "update")
        names = output("apt-cache", *options, "pkgnames", "linux-image-6.12").split()
        versions = sorted(
            (name for name in names if re.match(KERNEL, name)), key=lambda name: [int(n) for n in re.findall(r"\d+", name)])
        run("apt-get", *options, "-qq", "download", versions[-1], cwd=packages)

    def extract_kernel(self):
        """The ELF file within the kernel: qemu starts it as it is, without the seconds that unpacking it takes there."""
        image = next(self.kernel_root.glob("boot/vmlinuz-*")).read_bytes()
        word = lambda at: int.from_bytes(image[at:at + 4], "little")
        # Fields of the boot protocol's header: setup_sects, payload_offset, payload_length.
        start = ((image[0x1F1] or 4) + 1) * 512 + word(0x248)
        payload = image[start:start + word(0x24C)]
        if payload.startswith(b"\xfd7zXZ\0"):
            kernel = lzma.LZMADecompressor().decompress(payload)
        else:
            kernel = run("zstd", "-dcq", input=payload[:-4], capture_output=True).stdout
        if not kernel.startswith(b"\x7fELF"):
            raise SystemExit("radio: the kernel's package holds no ELF file where its header says so")
        self.kernel.write_bytes(kernel)

    # The initramfs

    def pack(self):
        tree = self.folder / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        for folder in "bin sbin usr/bin usr/sbin etc dev proc sys run tmp root mnt share var/lib/bluetooth var/lib/dbus var/log".split():
            (tree / folder).mkdir(parents=True, exist_ok=True)
        (tree / "var/run").symlink_to("/run")
        placed = set()
        for name in PROGRAMS:
            self.place(self.find(name, "/usr/sbin /usr/bin /sbin /bin /usr/libexec/bluetooth".split()), tree, placed)
        for name in PLUGINS:
            self.place(self.find(name, FOLDERS), tree, placed)
        loader = "ld-linux-x86-64.so.2"
        self.place((f"/lib64/{loader}", self.find(loader, FOLDERS)[1]), tree, placed)
        for path in CONFIGURATION:
            source, target = Path(f"{self.root}{path}"), Path(f"{tree}{path}")
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True)
            elif source.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        for suffix in ("", ".p7s"):
            found = glob.glob(f"{self.root}/lib/firmware/regulatory.db{suffix}-upstream")
            found += glob.glob(f"{self.root}/lib/firmware/regulatory.db*{suffix}*upstream*")
            (tree / "lib/firmware").mkdir(parents=True, exist_ok=True)
            if found:
                shutil.copy2(found[0], tree / f"lib/firmware/regulatory.db{suffix}")
        self.write_accounts(tree)
        (tree / "bin/sh").symlink_to("dash")
        self.add_modules(tree)
        shutil.copy2(HERE / "init", tree / "init")
        (tree / "init").chmod(0o755)
        run("sh", "-c", f"cd '{tree}' && find . | cpio -o -H newc --quiet -R 0:0 >'{self.initramfs}'")

    def find(self, name, folders):
        for folder in folders:
            path = Path(f"{self.root}{folder}/{name}")
            if os.path.lexists(path):
                # A link from the root leads to the machine's own file otherwise.
                while path.is_symlink():
                    target = os.readlink(path)
                    path = Path(f"{self.root}{target}") if target.startswith("/") else path.parent / target
                return f"{folder}/{name}", path
        raise SystemExit(f"radio: no package has brought {name}")

    def place(self, found, tree, placed):
        """Puts a file into the tree, with the libraries that it needs."""
        name, path = found
        if name in placed:
            return
        placed.add(name)
        target = Path(f"{tree}{name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
        for library in re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", path)):
            self.place(self.find(library, FOLDERS), tree, placed)

    def write_accounts(self, tree):
        files = {
            "passwd": "root:x:0:0:root:/root:/bin/sh\nmessagebus:x:100:100::/nonexistent:/bin/false\n"
            "avahi:x:101:101::/run/avahi-daemon:/bin/false\n",
            "group": "root:x:0:\nmessagebus:x:100:\navahi:x:101:\nnetdev:x:102:\nbluetooth:x:103:\n",
            "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files mdns4_minimal [NOTFOUND=return]\n",
            "hosts": "127.0.0.1 localhost\n::1 localhost\n",
            "machine-id": "0123456789abcdef0123456789abcdef\n",
        }
        for name, text in files.items():
            (tree / "etc" / name).write_text(text)

    def add_modules(self, tree):
        base = next(folder for folder in (self.kernel_root / "usr/lib/modules", self.kernel_root / "lib/modules") if folder.exists())
        version = next(base.iterdir()).name
        paths = {
            Path(path).name.split(".ko")[0].replace("-", "_"): Path(path)
            for path in glob.glob(f"{base}/{version}/**/*.ko*", recursive=True)
        }
        target = tree / "lib/modules" / version
        target.mkdir(parents=True)
        added = set()

        def add(name):
            name = name.replace("-", "_")
            # A module that is built into the kernel has no file.
            if name in added or name not in paths:
                return
            added.add(name)
            module = target / paths[name].relative_to(base / version).with_suffix("" if paths[name].suffix == ".xz" else ".ko")
            module.parent.mkdir(parents=True, exist_ok=True)
            data = paths[name].read_bytes()
            module.write_bytes(lzma.decompress(data) if paths[name].suffix == ".xz" else data)
            for key, value in self.module_facts(module):
                if key == "depends":
                    for other in value.split(","):
                        add(other)
                elif key == "softdep":
                    for other in value.split():
                        if not other.endswith(":"):
                            add(other)

        for name in MODULES:
            add(name)
        for name in ("modules.builtin", "modules.order", "modules.builtin.modinfo"):
            shutil.copy2(base / version / name, target / name)
        for name in "modprobe depmod".split():
            (tree / "sbin" / name).symlink_to("/bin/kmod" if (tree / "bin/kmod").exists() else "/usr/bin/kmod")
        depmod = self.folder / "depmod"
        depmod.unlink(missing_ok=True)
        depmod.symlink_to(self.find("kmod", ["/bin", "/usr/bin"])[1])
        run(depmod, "-b", tree, version)

    def module_facts(self, module):
        section = run("objcopy", "-O", "binary", "-j", ".modinfo", module, "/dev/stdout", capture_output=True).stdout
        for entry in section.split(b"\0"):
            key, _, value = entry.partition(b"=")
            yield key.decode(), value.decode(errors="replace")
