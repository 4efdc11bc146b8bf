"""The first view: small over the wire, from the gateway alone, asked for at once, and nothing moves once it is there."""

import os
import re
import unittest

from gateway import ROOT
from stage import PHONE, Stage, expect

WIRE_BYTES_MAX = 120_000
SHIFT = """new Promise((resolve) => new PerformanceObserver((list) => resolve(
  list.getEntries().filter((one) => !one.hadRecentInput).reduce((sum, one) => sum + one.value, 0)))
  .observe({ type: 'layout-shift', buffered: true }) || setTimeout(() => resolve(0), 500))"""
SIZES = """performance.getEntries().filter((one) => ['navigation', 'resource'].includes(one.entryType) && !one.name.includes('/v1/'))
  .map((one) => [new URL(one.name).origin, one.transferSize])"""


class Preloads(unittest.TestCase):
    def test_page_names_each_module_so_that_all_are_asked_for_at_once(self):
        public = os.path.join(ROOT, "public")
        with open(os.path.join(public, "index.html"), encoding="utf-8") as file:
            named = re.findall(r'rel="modulepreload" href="([^"]+)"', file.read())
        modules, found = set(), ["app/main.js"]
        while found:
            path = found.pop()
            if path in modules:
                continue
            modules.add(path)
            with open(os.path.join(public, path), encoding="utf-8") as file:
                names = re.findall(r"from '(\.[^']+)'", file.read())
            found += [os.path.normpath(os.path.join(os.path.dirname(path), name)) for name in names]
        self.assertEqual(sorted(modules), sorted([*named, "app/main.js"]))


class FirstView(Stage):
    gateway_count = 1

    def test_first_view_is_small_and_comes_from_the_gateway_alone(self):
        gateway = self.gateways[0]
        page = self.page(gateway, PHONE)
        expect(page.get_by_label("Pairing code")).to_be_visible()
        entries = page.evaluate(SIZES)
        self.assertEqual({gateway.url}, {origin for origin, _ in entries})
        self.assertLessEqual(sum(size for _, size in entries), WIRE_BYTES_MAX)
        self.assertLess(page.evaluate(SHIFT), 0.02)
        self.come_in(page, gateway.new_code(), "Ada")
        page.reload()
        expect(page.locator(".count")).to_be_visible()
        self.assertLess(page.evaluate(SHIFT), 0.02)
