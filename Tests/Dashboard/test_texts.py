"""The texts that people see are data: in a catalogue for each language, and in no module."""

import glob
import html.parser
import json
import os
import re
import unittest

from gateway import ROOT, Gateway
from stage import DESKTOP, PHONE, Stage, catalogue, expect
from test_timeline import APP, WITHOUT_BROWSER, run

PUBLIC = os.path.join(ROOT, "public")
LANGUAGES = ["en", "de"]
# Names of keys and of what browsers do, and of others' programs, which are the same in each language.
NAMES = {"AbortError", "Enter", "Escape", "Files", "ABCD-EFGH", "Content-Type", "Vicinity"}
# Attributes of elements that people read or hear.
READ = {"alt", "aria-description", "aria-label", "aria-roledescription", "aria-valuetext", "label", "placeholder", "title"}
COMMENT = re.compile(r"^\s*(//|/?\*).*$|(?<=[\s;])//\s.*$", re.M)
LITERAL = re.compile(r"'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`|\"([^\"\n]*)\"")


def files(*pattern):
    for path in sorted(glob.glob(os.path.join(PUBLIC, *pattern))):
        with open(path, encoding="utf-8") as file:
            yield os.path.basename(path), file.read()


class Page(html.parser.HTMLParser):
    """The texts in a page of HTML that people read, the keys that it names, and the languages in which it says that it needs scripts."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.keys, self.languages, self.is_unscripted = [], set(), [], False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.is_unscripted |= tag == "noscript"
        if self.is_unscripted and "lang" in attributes:
            self.languages.append(attributes["lang"])
        names = [name for name in attributes if name in READ or (name == "value" and attributes.get("type") in ("button", "reset", "submit"))]
        self.texts += [attributes[name] for name in names if attributes[name]]
        self.keys.update(attributes[name] for name in ("data-text", "data-label", "data-hint") if name in attributes)

    def handle_endtag(self, tag):
        self.is_unscripted &= tag != "noscript"

    def handle_data(self, data):
        if not self.is_unscripted:
            self.texts.append(data.strip())

    @property
    def fixed(self):
        return [text for text in self.texts if re.search(r"[^\W\d_]", text) and text not in NAMES]


def forms(text):
    return text if isinstance(text, dict) else {"other": text}


# The choices whose text needs more room than they have, in one line or in several; and the views whose names are cut.
CUT = """() => {
  const cut = [...document.querySelectorAll('select')].filter((e) => e.checkVisibility()).filter((own) => {
    const line = own.cloneNode(true)
    line.value = own.value
    own.after(line)
    Object.assign(line.style, { position: 'absolute', width: 'max-content', maxWidth: 'none', whiteSpace: 'nowrap', minHeight: 0 })
    const [is, needs] = [own, line].map((e) => e.getBoundingClientRect())
    line.remove()
    return is.width < needs.width - 1 && is.height < needs.height * 1.4
  })
  const names = [...document.querySelectorAll('.way span:not(.badge)')].filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth)
  return [...cut, ...names].map((e) => e.selectedOptions?.[0].textContent ?? e.textContent)
}"""


class Catalogues(unittest.TestCase):
    folder = "app"

    def setUp(self):
        self.catalogues = {language: catalogue(language, self.folder) for language in LANGUAGES}

    def modules(self):
        return [(name, COMMENT.sub("", code)) for name, code in files(self.folder, "*.js")]

    def pages(self):
        """The pages that show these texts."""
        return [(name, Page(text)) for name, text in files("*.html")]

    def test_all_languages_have_the_same_keys_with_the_same_values_in_order(self):
        english = self.catalogues["en"]
        for language, texts in self.catalogues.items():
            self.assertEqual(list(english), list(texts), language)
            self.assertEqual(sorted(texts), list(texts), f"{language}: in the order of the keys")
            for key, text in texts.items():
                for form in forms(text).values():
                    self.assertTrue(form.strip(), f"{language}: {key}")
                places = [{*re.findall(r"\{(\w+)\}", " ".join(forms(one).values()))} for one in (english[key], text)]
                self.assertEqual(places[0], places[1], f"{language}: the values of {key}")
                self.assertEqual(isinstance(english[key], dict), isinstance(text, dict), f"{language}: plurals of {key}")

    def test_each_key_is_used_and_each_that_is_used_is_there(self):
        keys, beginnings = set(), set()
        for _, page in self.pages():
            keys.update(page.keys)
        for _, code in self.modules():
            for call in re.findall(r"\b(?:t|state)\((.*)", code):
                keys.update(re.findall(r"'([\w]+(?:\.[\w]+)*)'", call))
            beginnings.update(re.findall(r"`([\w]+\.)\$\{", code))
            beginnings.update(f"{group}." for group in re.findall(r"worded\('(\w+)'", code))
        known = set(self.catalogues["en"])
        unused = {key for key in known - keys if not key.startswith(tuple(beginnings))}
        self.assertEqual(set(), unused, "in no module")
        missing = {key for key in keys if "." in key} - known
        self.assertEqual(set(), missing, "in no catalogue")

    def test_no_module_has_a_text_for_people(self):
        found = []
        for name, code in self.modules():
            code = re.sub(r"\bclass: ('[^']*'|`[^`]*`)|\bclassName = '[^']*'|from '[^']*'|'aria-\w+': '[^']*'|querySelector\w*\('[^']*'\)", "", code)
            for match in LITERAL.finditer(code):
                text = re.sub(r"\$\{[^}]*\}", "", next(part for part in match.groups() if part is not None))
                is_sentence = re.search(r"[a-zA-Z]{2,}\s+[a-zA-Z]{2,}", text) or re.match(r"[A-Z][a-z]", text)
                if is_sentence and text not in NAMES and not self.is_technical(name, text):
                    found.append(f"{name}: {text}")
        self.assertEqual([], found)

    def test_no_page_has_a_text_but_the_one_for_those_without_scripts_in_each_language(self):
        self.assertTrue(self.pages())
        for name, page in self.pages():
            self.assertEqual([], page.fixed, name)
            self.assertEqual(LANGUAGES, page.languages, name)

    @staticmethod
    def is_technical(name, text):
        """Paths of icons and commands, names of languages by themselves, errors of the programmer."""
        return name in ("icons.js", "licences.js") or text in ("English", "Deutsch", "noopener noreferrer") or text.startswith(("vicinity ", "no text ", "event ", "width=", "aria-"))


class Problems(unittest.TestCase):
    # Mistakes of programs, which a person at the page does not make.
    OF_PROGRAMS = {
        "badRequest", "methodNotAllowed", "misdirected", "notAcceptable", "preconditionFailed", "rangeNotSatisfiable",
        "unsupportedMediaType", "upgradeRequired"}

    @staticmethod
    def cases(*path):
        with open(os.path.join(ROOT, "Sources", *path), encoding="utf-8") as file:
            return file.read()

    def test_each_type_and_each_reason_has_a_text(self):
        with open(os.path.join(ROOT, "openapi", "vicinity.json"), encoding="utf-8") as file:
            kinds = json.load(file)["components"]["schemas"]["ProblemKind"]["enum"]
        reasons = re.findall(r"^  case (\w+) = [1-9]", self.cases("Wire", "Reason.swift"), re.M)
        self.assertGreater(len(reasons), 20)
        texts = catalogue("en")
        said = {f"problem.{kind}" for kind in {*kinds} - self.OF_PROGRAMS} | {f"reason.{reason}" for reason in [*reasons, "queueFull", "noSpace"]}
        self.assertEqual(said | {"problem.offline"}, {key for key in texts if re.match(r"(problem|reason)\.\w+$", key)})

    def test_problem_is_told_by_its_rule_its_reason_or_its_type_and_else_by_the_gateway(self):
        said = self.sentences("de", [
            {"kind": "forbidden", "rule": "pairingCode", "message": "no"}, {"type": "/problems/timedOut", "reason": "declined", "detail": "no"},
            {"kind": "unavailable", "message": "the disk is away"}, {"kind": "later", "message": "a new thing"}])
        self.assertEqual([
            "Dieser Kopplungscode gilt nicht: Er wurde schon benutzt, oder seine Zeit ist vorbei.", "Die andere Person hat abgelehnt.",
            "Das ist zurzeit nicht möglich. The disk is away.", "A new thing."], said)
        self.assertEqual(["The disk is away."], self.sentences("en", [{"kind": "unavailable", "message": "the disk is away"}]))

    @staticmethod
    def sentences(language, problems):
        return run("words.js", f"""
            {WITHOUT_BROWSER}
            const {{ useLanguage }} = await import('{APP}/texts.js')
            await useLanguage('{language}')
            console.log(JSON.stringify({json.dumps(problems)}.map(all.sentence)))
        """)


class CataloguesOfExamples(Catalogues):
    folder = "examples"

    def pages(self):
        return [(name, Page(text)) for name, text in files(self.folder, "*.html")]

    def test_dashboard_lists_each_example_by_its_title(self):
        for language, texts in self.catalogues.items():
            listed = {key.removeprefix("example."): text for key, text in catalogue(language).items() if key.startswith("example.")}
            titles = {key.removesuffix(".title"): text for key, text in texts.items() if key.endswith(".title")}
            # Requests are tried from the reference.
            titles.pop("request")
            self.assertEqual(titles, {name: text for name, text in listed.items() if not name.endswith("Hint")}, language)


class Languages(Stage):
    gateway_count = 1

    def german(self, size, gateway=None):
        context = self.browser.new_context(viewport=size, locale="de-DE", reduced_motion="reduce")
        self.contexts.append(context)
        page = context.new_page()
        page.faults = []
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.goto((gateway or self.gateways[0]).url)
        return page

    def test_page_speaks_the_language_of_the_browser_and_the_one_that_is_chosen(self):
        page = self.german(PHONE)
        expect(page.get_by_role("button", name="Beitreten")).to_be_visible()
        self.assertEqual("de", page.evaluate("document.documentElement.lang"))
        self.picture(page, "join-de-phone")
        page.get_by_label("Kopplungscode").fill(self.gateways[0].new_code())
        page.get_by_label("Dein Name").fill("Ada")
        page.get_by_role("button", name="Beitreten").click()
        expect(page.locator(".count")).to_have_text("0 Personen in der Nähe")
        self.picture(page, "nearby-de-phone")
        page.get_by_role("link", name="Gateway").click()
        expect(page.get_by_role("heading", name="Dieser Browser")).to_be_visible()
        self.picture(page, "gateway-de-phone")
        page.get_by_label("Sprache").select_option("en")
        expect(page.get_by_role("heading", name="This browser")).to_be_visible()
        self.assertEqual("en", page.evaluate("document.documentElement.lang"))
        # It stays, over a reload and a new join.
        page.reload()
        expect(page.get_by_role("heading", name="This browser")).to_be_visible()
        page.get_by_role("button", name="Delete my data").click()
        page.get_by_role("button", name="Delete and leave").click()
        expect(page.get_by_role("button", name="Join")).to_be_visible()

    def test_no_choice_and_no_view_is_cut_off_in_german_on_a_phone(self):
        # The first code is that of an operator.
        office = Gateway("Office")
        self.addCleanup(office.close)
        page = self.german(PHONE, office)
        page.get_by_label("Kopplungscode").fill(office.code)
        page.get_by_label("Dein Name").fill("Olga")
        page.get_by_role("button", name="Beitreten").click()
        page.get_by_role("link", name="Gateway").click()
        for width in (320, 360, 390):
            page.set_viewport_size({"width": width, "height": 844})
            for role in ("member", "viewer"):
                page.get_by_label("Rolle").select_option(role)
                self.assertEqual([], page.evaluate(CUT), f"{role} at {width} px")
            page.locator("#role").scroll_into_view_if_needed()
            self.picture(page, f"codes-de-phone-{width}")

    def test_language_that_is_not_known_is_english(self):
        context = self.browser.new_context(viewport=DESKTOP, locale="xx-XX")
        self.contexts.append(context)
        page = context.new_page()
        page.faults = []
        page.goto(self.gateways[0].url)
        expect(page.get_by_role("button", name="Join")).to_be_visible()


if __name__ == "__main__":
    unittest.main()
