"""The dashboard can be installed: its manifest satisfies the browser, with icons for systems that draw no SVG."""

import json
import struct
import tempfile
import urllib.request

from stage import CHROMIUM, Stage, expect


class Install(Stage):
    gateway_count = 1

    def test_browser_finds_nothing_that_forbids_to_install_it(self):
        # Private windows, as those of other tests, install nothing.
        with tempfile.TemporaryDirectory() as folder:
            context = self.playwright.chromium.launch_persistent_context(folder, executable_path=CHROMIUM, args=["--no-sandbox"])
            try:
                page = context.pages[0]
                page.goto(self.gateways[0].url)
                expect(page.get_by_label("Pairing code")).to_be_visible()
                session = context.new_cdp_session(page)
                self.assertEqual([], session.send("Page.getAppManifest")["errors"])
                self.assertEqual([], session.send("Page.getInstallabilityErrors")["installabilityErrors"])
            finally:
                context.close()

    def test_icons_are_as_large_as_the_manifest_says(self):
        def read(path):
            with urllib.request.urlopen(f"{self.gateways[0].url}/{path}") as answer:
                return answer.headers["Content-Type"], answer.read()

        icons = json.loads(read("app.webmanifest")[1])["icons"]
        pictures = {icon["src"]: icon for icon in icons if icon["type"] == "image/png"}
        self.assertEqual(["icon-180.png", "icon-512.png", "icon-mask-512.png"], sorted(pictures))
        for name, icon in pictures.items():
            kind, content = read(name)
            self.assertEqual("image/png", kind)
            self.assertEqual(icon["sizes"], "%dx%d" % struct.unpack(">II", content[16:24]))
            self.assertLess(len(content), 20_000)
