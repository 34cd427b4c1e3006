"""The report of a campaign, in a real browser: readable, usable, and safe from its programs."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser
from command import ok_here, run_here

from scriptschema.fuzzing.campaign import statistics
from scriptschema.fuzzing.campaign.statistics import Interval
from scriptschema.fuzzing.oracles.verdict import Difference
from scriptschema.fuzzing.report import content, text


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture
def page(campaign: Path, tmp_path: Path, browser: Browser) -> Browser:
    """The campaign's report in a browser."""
    target = tmp_path / "report.html"
    ok_here("report", campaign, "-o", target)
    browser.open(target)
    return browser


def shown(page: Browser) -> list[str]:
    """Return the kinds of the visible finds."""
    visible = "[...document.querySelectorAll('.find')].filter((f) => f.checkVisibility())"
    kinds: list[str] = json.loads(
        page.ask(f"JSON.stringify({visible}.map((f) => f.querySelector('.kind').textContent))")
    )
    return kinds


def test_it_opens_without_complaints_and_asks_for_nothing_from_elsewhere(page: Browser) -> None:
    assert page.complaints() == []
    assert [url for url in page.requested() if not url.endswith("report.html")] == []
    assert shown(page) == ["sanitizer", "difference", "hang"]  # the worst first


def test_a_find_says_all_that_one_needs_to_act_on_it(page: Browser, campaign: Path) -> None:
    text = page.ask("document.querySelectorAll('.find')[1].innerText")
    for needed in (
        "print(math.floor(12.5) + 1)",  # the reduced program
        "Line 2 of the output",
        "luau-web -O0",
        "sum 12 <b>ok</b>",
        "sum 13 <b>ok</b>",
        f"scriptschema reproduce {campaign}/finds/difference-math-floor",
        "31 times",
        "2026-11-22T01:02:03Z",
        "9 nodes, reduced from 240 in 188 tests",
        "luau-web 1.3.0",
    ):
        assert needed in text
    marks = page.ask("[...document.querySelectorAll('mark')].map((m) => m.textContent).join()")
    assert marks == "2,3"
    assert page.ask("document.querySelectorAll('.find .code .nf, .find .code .nb').length") > 0


def test_hostile_programs_are_shown_and_run_nothing(page: Browser) -> None:
    assert page.ask("document.title").startswith("3 finds: ")
    assert page.ask("document.images.length") == 0
    assert page.ask("document.scripts.length") == 1
    text = page.ask("document.querySelector('.find').textContent")
    assert "<script>document.title = 'owned'</script>" in text
    assert r"\x1b[31m" in text
    assert r"\u202e reversed" in text
    assert r"\ud800" in text
    everything = page.ask("document.body.textContent")
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", everything)
    # The policy would hold even if something got through.
    page.ask(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hit = 1\">')"
    )
    page.ask("document.querySelector('main').setAttribute('onclick', 'window.hit = 1')")
    page.ask("document.querySelector('main').click()")
    assert page.ask("window.hit") is None


def test_megabytes_are_cut_off_and_say_so(page: Browser, tmp_path: Path) -> None:
    assert (tmp_path / "report.html").stat().st_size < 400_000
    text = page.ask("document.querySelectorAll('.find')[2].textContent")
    assert "and 980,009 more characters" in text
    assert "and 996,000 more characters" in text
    assert page.ask("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_filter_and_the_folds_work_by_keyboard(page: Browser) -> None:
    page.press("/", *"floor")
    assert shown(page) == ["difference"]
    assert page.ask("document.getElementById('matching').textContent") == "1 of 3"
    page.press(*"x")
    assert shown(page) == []
    page.press("Escape")
    assert len(shown(page)) == 3
    opened = "document.querySelectorAll('.find[open]').length"
    page.ask("document.getElementById('fold').focus()")
    page.press("Enter")
    assert page.ask(opened) == 0
    page.ask("document.querySelector('.find summary').focus()")
    page.press("Enter")
    assert page.ask(opened) == 1
    page.ask("document.getElementById('unfold').click()")
    assert page.ask(opened) == 3


def test_it_is_readable_in_the_dark_and_prints_everything_in_the_light(page: Browser) -> None:
    colours = "((s) => s.color + ' on ' + s.backgroundColor)(getComputedStyle(document.body))"
    light = page.ask(colours)
    drawn = "getComputedStyle(document.querySelector('.chart svg text')).fill"
    light_text = page.ask(drawn)
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.call("Emulation.setEmulatedMedia", features=dark)
    try:
        assert page.ask(colours) == "rgb(230, 232, 235) on rgb(20, 23, 27)"
        assert page.ask(drawn) != light_text
        page.call("Emulation.setEmulatedMedia", media="print", features=dark)
        assert page.ask(colours) == light
        page.ask("document.getElementById('fold').click()")
        page.ask("window.dispatchEvent(new Event('beforeprint'))")
        assert page.ask("document.querySelectorAll('.find:not([open])').length") == 0
        page.ask("window.dispatchEvent(new Event('afterprint'))")
        assert page.ask("document.querySelectorAll('.find[open]').length") == 0
    finally:
        page.call("Emulation.setEmulatedMedia", media="", features=[])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_that_keeps_people_from_using_the_page(
    page: Browser, scheme: str
) -> None:
    page.in_colors(scheme)
    page.ask("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.barriers() == []


@pytest.mark.parametrize(("dark", "background"), [(False, "#f4f5f7"), (True, "#1d2127")])
def test_each_token_of_a_program_can_be_read(dark: bool, background: str) -> None:
    assert f"--field: {background}" in (Path(content.__file__).parent / "page.css").read_text()
    rules = text.styles(dark=dark)
    colours = re.findall(r"\.code \.(?!w )(\w+) \{ color: (#\w{6})", rules)
    assert len(colours) > 40
    worst = min(colours, key=lambda one: contrast(one[1], background))
    assert contrast(worst[1], background) >= 4.5, worst  # WCAG 2.2, level AA


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_numbers_are_those_of_the_campaign(page: Browser) -> None:
    text = page.ask("document.body.innerText")
    for number in ("218,900", "656,700", "3 h 19 min", "398", "99,500"):
        assert number in text
    used = page.ask(
        "[...document.querySelectorAll('details')].find((d) => "
        "d.querySelector('strong')?.textContent == 'math').textContent"
    )
    assert "floor" in used.partition("Never:")[0]
    assert "ceil" in used.partition("Never:")[2]
    assert page.ask("document.querySelectorAll('.chart svg').length") == 1


def test_a_campaign_that_has_just_begun_has_a_report(
    campaign: Path, tmp_path: Path, browser: Browser
) -> None:
    (campaign / statistics.FILE).unlink()
    for folder in (campaign / "finds").iterdir():
        folder.rename(tmp_path / folder.name)
    ok_here("report", campaign, "-o", tmp_path / "new.html")
    browser.open(tmp_path / "new.html")
    assert browser.complaints() == []
    assert "None so far." in browser.ask("document.body.innerText")


def test_a_find_that_cannot_be_read_is_reported_and_the_others_are_there(
    campaign: Path, tmp_path: Path
) -> None:
    [broken] = (campaign / "finds").glob("hang*")
    (broken / "find.json").write_text("{")
    (campaign / "finds" / ".half-made").mkdir()
    done = run_here("report", campaign, "-o", tmp_path / "report.html")
    assert done.returncode == 1
    assert b"find.json" in done.stderr
    written = (tmp_path / "report.html").read_text()
    assert 'role="alert"' in written
    assert "2 finds" in written


def test_what_is_no_campaign_is_refused(tmp_path: Path) -> None:
    done = run_here("report", tmp_path, "-o", tmp_path / "report.html")
    assert done.returncode == 1
    assert b"is not a campaign" in done.stderr
    assert not (tmp_path / "report.html").exists()


def test_a_long_campaign_gives_a_line_of_a_few_points(campaign: Path) -> None:
    from scriptschema.fuzzing.report import charts

    many = [Interval(seconds=float(n), runs=10, corpus=n) for n in range(1, 5000)]
    drawn = charts.over_time(many)
    assert drawn.startswith("<svg")
    assert len(drawn) < 60_000
    assert "minutes" in drawn
    assert charts.over_time(many[:1]) == ""
    assert "seconds" in charts.over_time(many[:20])
    assert charts._thinned(many)[-1].runs == 49_990


@pytest.mark.parametrize(
    ("left", "right", "marked"),
    [
        ("abc", "abd", [("ab", "c", ""), ("ab", "d", "")]),
        ("aa", "aaa", [("aa", "", ""), ("aa", "a", "")]),
        (None, "x", [None, ("", "x", "")]),
        (
            "a" * 900 + "b" * 900,
            "a" * 900,
            [("…" + "a" * 400, "b" * 400 + "…", ""), ("…" + "a" * 400, "", "")],
        ),
    ],
)
def test_of_two_lines_what_differs_is_marked(
    left: str | None, right: str | None, marked: list[object]
) -> None:
    found = text.marked(Difference(1, "l", "r", left, right))
    assert [parts for _, parts in found] == marked


def test_times_are_said_as_people_do() -> None:
    said = [text.duration(seconds) for seconds in (0.04, 9.96, 59.4, 200, 7500)]
    assert said == ["0.0 s", "10.0 s", "59 s", "3 min 20 s", "2 h 5 min"]


def test_runs_that_ended_alike_are_shown_as_one(campaign: Path) -> None:
    [find] = [f for f in content.gather(campaign).finds if f.find.signature.kind == "difference"]
    targets = [*content.runs_of(find).values()]
    assert targets == [["luau-web -O0", "luau-web -O1"], ["luau-web -O2"]]
