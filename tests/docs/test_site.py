"""The documentation site builds without warnings, has no broken links, and is complete."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import click
import pytest
import yaml
from browser import Browser
from components import needs
from pages import PAGES, ROOT, blocks, without_blocks
from site_modules import site_module

from orgrest.commands.main import program
from scriptschema.commands.main import main

reference = site_module("reference")
SITE = ROOT / "build/site"
# What a browser loads by itself.
LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}


class Page(HTMLParser):
    """A built page: its links, the files that it loads, and the anchors that links can refer to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.text = path.read_text("utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if LOADED.get(tag) in given and given.get("rel") not in ("canonical", "prev", "next"):
            self.loads.append(given[LOADED[tag]])


@pytest.fixture(scope="module")
def built() -> dict[Path, Page]:
    """Build the site in build/site, where it can be viewed, and return its pages."""
    done = subprocess.run(
        [sys.executable, ROOT / "docs/site/build.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONSAFEPATH": ""},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    assert "warning" not in done.stdout.lower(), done.stdout
    return {path: Page(path) for path in SITE.rglob("*.html")}


def test_no_link_of_the_site_leads_nowhere(built: dict[Path, Page]) -> None:
    broken = []
    for path, page in built.items():
        if path.name == "404.html":  # whose links are those of the server's root
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                broken.append(f"{path.relative_to(SITE)}: {link}")
            elif target in built and parts.fragment:
                places = built[target].places
                broken += [] if unquote(parts.fragment) in places else [f"{path.name}: {link}"]
    assert broken == []


def test_links_to_other_sites_can_be_those_of_any_reader(built: dict[Path, Page]) -> None:
    """LinkChecker checks before a release whether the targets exist."""
    others = {link for page in built.values() for link in page.links if urlsplit(link).scheme}
    assert len(others) > 10
    for link in others:
        parts = urlsplit(link)
        assert parts.scheme == "https", link
        assert re.fullmatch(r"(?:[a-z0-9-]+\.)+[a-z]{2,}", parts.netloc), link
        assert not re.search(r"\bexample\.|[\s<>{}|\\^`]", link), link


def test_the_site_takes_nothing_from_other_hosts(built: dict[Path, Page]) -> None:
    loaded = {load for page in built.values() for load in page.loads}
    assert [load for load in loaded if urlsplit(load).netloc] == []
    for style in SITE.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//[^)]*", style.read_text()) == []


def test_every_page_can_be_reached_from_the_navigation(built: dict[Path, Page]) -> None:
    index = SITE / "index.html"
    linked = {(SITE / unquote(urlsplit(link).path)).resolve() for link in built[index].links}
    missing = [path.relative_to(SITE) for path in built if path.name != "404.html"]
    assert [path for path in missing if (SITE / path).resolve() not in linked] == []


def test_no_command_or_option_is_missing_from_the_reference(built: dict[Path, Page]) -> None:
    for package, top in (("scriptschema", main), ("orgrest", program)):
        folder = SITE / package / "reference"
        pages = [folder / "commands.html", *(folder / "commands").glob("*.html")]
        text = "".join(page.read_text("utf-8") for page in pages)
        for command in commands(top):
            for parameter in command.params:
                for option in parameter.opts:
                    if option.startswith("-"):
                        assert option in text, f"{command.name} {option}"


def test_no_table_shows_an_escape_or_has_a_row_of_other_cells(built: dict[Path, Page]) -> None:
    for path, page in built.items():
        assert "\\|" not in page.text, path
        for table in re.findall(r"<table.*?</table>", page.text, re.DOTALL):
            rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
            assert len({len(re.findall(r"<t[dh]\b", row)) for row in rows}) == 1, path


QUERIES = ("retry", "environment", "secret", "assertion", "body", "import", "reduce", "fuzz")


@needs("node")
def test_a_search_finds_guides_before_reference_and_names_that_users_import(
    built: dict[Path, Page],
) -> None:
    [worker] = (SITE / "assets/javascripts/workers").glob("search.*.js")
    names = ("Mutator", "ExprBinary")
    script = ROOT / "tests/docs/search.js"
    done = subprocess.run(
        ["node", script, worker, SITE / "search.json", *QUERIES, *names],
        capture_output=True,
        text=True,
        check=True,
    )
    *guides, mutator, binary = map(json.loads, done.stdout.splitlines())
    for query, found in zip(QUERIES, guides, strict=True):
        assert not re.search("/reference/(api|commands)/", found[0]), query
    assert "scriptschema/reference/api/fuzzing.html#scriptschema.fuzzing.mutate.Mutator" in mutator
    assert binary[0].endswith("#scriptschema.messages.ExprBinary")


def test_a_search_finds_no_private_names(built: dict[Path, Page]) -> None:
    items = json.loads((SITE / "search.json").read_text("utf-8"))["items"]
    names = [item["location"].partition("#")[2] for item in items if "/api/" in item["location"]]
    assert len(names) > 200
    assert [name for name in names if "._" in name or not name.startswith("scriptschema.")] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_a_phone(built: dict[Path, Page], scheme: str) -> None:
    kinds = (
        "index",
        "which",
        "dependencies",
        "scriptschema/tutorial",
        "scriptschema/reference/rules",
    )
    kinds += ("scriptschema/reference/commands/fuzz", "orgrest/reference/header-arguments")
    kinds += ("orgrest/moving/httpyac", "scriptschema/reference/api/wire")
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    with Browser() as browser:
        browser.call("Emulation.setEmulatedMedia", features=media)
        browser.call("Emulation.setDeviceMetricsOverride", **phone)
        for kind in kinds:
            browser.open(SITE / f"{kind}.html")
            assert browser.ask("document.documentElement.scrollWidth - innerWidth") <= 0, kind
            background = browser.ask("getComputedStyle(document.body).backgroundColor")
            light = max(map(int, re.findall(r"\d+", background)[:3])) > 127
            assert light == (scheme == "light"), kind


def test_every_public_name_is_in_the_reference(built: dict[Path, Page]) -> None:
    places = {place for page in built.values() for place in page.places}
    for name in (
        *("scriptschema.wire.encode", "scriptschema.messages.ExprBinary.Op"),
        *("scriptschema.strategies.programs", "scriptschema.fuzzing.reduce.reduce"),
        *("scriptschema.luau.repair.RULES", "scriptschema.generation.programs.program"),
        *("orgrest.model.OrgrestError", "orgrest.run.run.Run.outcomes"),
    ):
        assert name in places, name
    for package in ("scriptschema", "orgrest"):
        modules = {path.stem for path in (SITE / package / "reference/api").glob("*.html")}
        parts = (ROOT / package).glob("[!_]*")
        there = {path.stem for path in parts if path.is_dir() or path.suffix == ".py"}
        assert modules == there - reference.SKIPPED


def commands(command: click.Command) -> list[click.Command]:
    """Return a command and all its subcommands."""
    if not isinstance(command, click.Group):
        return [command]
    context = click.Context(command)
    inner = [command.get_command(context, name) for name in command.list_commands(context)]
    return [command, *(command for part in inner if part for command in commands(part))]


# ------------------------------------------------------------------- contents of the pages


@cache
def options(program_name: str) -> dict[str, set[str]]:
    """Return the options of each command of a program, by its full name (`orgrest import`)."""
    top: click.Command = {"scriptschema": main, "orgrest": program}[program_name]
    found: dict[str, set[str]] = {}

    def visit(command: click.Command, words: str) -> None:
        found[words] = {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
        found[words] |= {"-h", "--help"}
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                if inner := command.get_command(context, name):
                    visit(inner, f"{words} {name}")

    visit(top, program_name)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_have_the_options_it_names(page: Path) -> None:
    text = page.read_text("utf-8")
    shell = [block.text for block in blocks(page) if block.language in ("sh", "console", "bash")]
    inline = re.findall(r"`((?:scriptschema|orgrest) [^`]*)`", text)
    for part in (*shell, *inline):
        for call in re.split(r"&&|[;|\n]", re.sub(r"\\\n", " ", part)):
            if found := re.search(r"(?:^|[\s(/])(?P<name>scriptschema|orgrest)(?P<rest> .*)", call):
                path, words = found["name"], found["rest"].split(" --test ")[0].split()
                known = options(path)
                while words and f"{path} {words[0]}" in known:
                    path = f"{path} {words.pop(0)}"
                named = [word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)]
                assert set(named) <= known[path], call


def test_the_readme_is_no_longer_than_it_may_be() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150


def test_the_reference_can_be_read_in_the_repository_and_is_up_to_date() -> None:
    pages = reference.committed()
    written = {page: page.read_text("utf-8") for page in pages if page.exists()}
    removed = set(ROOT.glob("docs/*/reference/commands/*.md")) - set(pages)
    old = sorted({page for page in pages if written.get(page) != pages[page]} | removed)
    assert old == [], "run `python docs/site/reference.py`, which updates these pages"


LINKED = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_work_in_the_repository(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)", without_blocks(page.read_text("utf-8"))):
        parts = urlsplit(target)
        if not parts.scheme:
            path = Path(os.path.normpath(page.parent / parts.path)) if parts.path else page
            assert path.exists(), target
            assert not parts.fragment or parts.fragment in anchors(path), target


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub creates for the headings of a page."""
    titles = re.findall(r"^#+ (.*)", without_blocks(page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("product", ["scriptschema", "orgrest"])
def test_the_overview_of_a_product_links_to_every_page_about_it(product: str) -> None:
    """Pages for both products, and those of one command or module, are listed elsewhere."""
    index = ROOT / f"docs/{product}/index.md"
    linked = {
        os.path.normpath(index.parent / target)
        for target in re.findall(r"\]\(([^)#\s]+)", index.read_text("utf-8"))
    }
    section = next(s for s in site_navigation() if product in s)[product]
    pages = {page for page in leaves(section) if "*" not in page}
    missing = [p for p in pages if str(ROOT / "docs" / p) not in linked | {str(index)}]
    assert missing == []


def site_navigation() -> list[dict[str, Any]]:
    """Return the sections of the site."""
    sections: list[dict[str, Any]] = yaml.safe_load(
        (ROOT / "docs/site/mkdocs.yml").read_text("utf-8")
    )["nav"]
    return sections


def leaves(part: Any) -> Iterator[str]:
    """Yield the pages in a part of the navigation."""
    if isinstance(part, str):
        yield part
    else:
        for inner in part.values() if isinstance(part, dict) else part:
            yield from leaves(inner)


def test_building_the_site_without_its_tools_says_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", ROOT / "docs/site/build.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "zensical" in done.stderr
    assert "pip install" in done.stderr
    assert "Traceback" not in done.stderr
