"""The client's types say what its code does."""

import glob
import json
import os
import re
import subprocess
import tempfile
import unittest

from client import CLIENT, NODE
from gateway import ROOT

TYPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "typescript")
TYPESCRIPT = "/usr/share/nodejs/typescript"
OPTIONS = {
    "strict": True, "noEmit": True, "allowJs": True, "checkJs": True, "target": "es2022", "module": "es2022",
    "moduleResolution": "node", "lib": ["es2022", "dom", "dom.iterable"], "types": [],
}


class Types(unittest.TestCase):
    def compiled(self, files, types=CLIENT):
        """The compiler's complaints about programs that use the package."""
        with tempfile.TemporaryDirectory() as folder:
            paths = {"vicinity-client": [os.path.join(types, "vicinity.d.ts")]}
            with open(os.path.join(folder, "tsconfig.json"), "w", encoding="utf-8") as file:
                json.dump({"compilerOptions": {**OPTIONS, "baseUrl": folder, "paths": paths}, "files": files}, file)
            done = subprocess.run(["tsc", "--project", folder], capture_output=True, text=True, check=False)
            return done.stdout.splitlines()

    def test_the_compiler_takes_the_examples_and_a_program_that_uses_everything(self):
        examples = glob.glob(os.path.join(CLIENT, "examples", "*.js"))
        self.assertGreater(len(examples), 3)
        self.assertEqual([], self.compiled([*examples, os.path.join(TYPES, "consumer.ts")]))

    def test_the_compiler_refuses_types_that_lack_what_a_program_uses(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in glob.glob(os.path.join(CLIENT, "*.d.ts")):
                with open(path, encoding="utf-8") as file:
                    text = file.read().replace("  whenConnected(", "  connected2(")
                with open(os.path.join(folder, os.path.basename(path)), "w", encoding="utf-8") as file:
                    file.write(text)
            faults = self.compiled([os.path.join(CLIENT, "examples", "chat.js")], folder)
        self.assertEqual(1, len(faults))
        self.assertIn("whenConnected", faults[0])

    def test_each_path_of_the_contract_answers_what_the_types_say(self):
        with open(os.path.join(ROOT, "openapi", "vicinity.json"), encoding="utf-8") as file:
            contract = json.load(file)
        lines = ["import { Vicinity } from 'vicinity-client'", "const gateway = new Vicinity('http://localhost:7777')"]
        for path, methods in contract["paths"].items():
            answer = methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {}).get("application/json", {})
            if name := answer.get("schema", {}).get("$ref"):
                schema = contract["components"]["schemas"][name.split("/")[-1]]
                lines += self.reading(re.sub(r"\{\w+\}", "x", path), schema)
        self.assertGreater(len(lines), 150)
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program.ts")
            with open(program, "w", encoding="utf-8") as file:
                file.write("\n".join(lines))
            self.assertEqual([], self.compiled([program]))

    @staticmethod
    def reading(path, schema):
        """Lines that read each field of an answer, and one that no answer has."""
        answer = f";(await gateway.get('{path}'))"
        # Changes, which a list may have instead of its items, come by a collection.
        names = [name for name in schema["properties"] if name not in ("recovered", "missed", "oldest", "changes", "dropped")]
        return [*(f"{answer}.{name}" for name in names), "// @ts-expect-error", f"{answer}.nothing"]

    def test_types_and_code_name_the_same_exports_methods_and_accessors(self):
        said = subprocess.check_output([
            NODE, os.path.join(TYPES, "names.mjs"), TYPESCRIPT, os.path.join(CLIENT, "vicinity.d.ts"),
            os.path.join(CLIENT, "vicinity.js")], text=True)
        names = json.loads(said)
        self.maxDiff = None
        self.assertEqual(names["defined"], names["declared"])
        self.assertIn("sendResource", names["declared"]["Session"])

    def test_the_package_has_types_first_and_the_version_of_the_gateway(self):
        with open(os.path.join(CLIENT, "package.json"), encoding="utf-8") as file:
            package = json.load(file)
        self.assertEqual(["types", "default"], list(package["exports"]["."]))
        for path in package["exports"]["."].values():
            self.assertTrue(os.path.exists(os.path.join(CLIENT, path)), path)
        with open(os.path.join(ROOT, "Sources", "Gateway", "Server", "Gateway.swift"), encoding="utf-8") as file:
            self.assertIn(f'static let version = "{package["version"]}"', file.read())
