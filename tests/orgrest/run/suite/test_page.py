"""The HTML report in a real browser: search, keyboard, dark theme, and hostile responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browser import Browser
from hostile import HOSTILE
from servers import RawServer, by_path, response
from waiting import wait_until

from orgrest.reports import html

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCUMENT = """### first
GET HOST/json

### second
GET HOST/json?needle
?? status == 404

### third
GET HOST/404

?? status == 404
"""
MANY = 5000
VISIBLE = "[...document.querySelectorAll('details.request')].filter(d => d.checkVisibility())"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as running:
        yield running


@pytest.fixture
def page(run, browser: Browser, folder: Path) -> Browser:
    run("a.http", "--html", "r.html", a_http=DOCUMENT)
    browser.open(folder / "r.html")
    return browser


@pytest.fixture
def many(run, browser: Browser, folder: Path) -> Browser:
    """The page of a run with many requests, two of which failed."""
    once = run("a.http", a_http=DOCUMENT)
    passed, failed, _ = once.requests
    failing = (70, 2345)
    records = (
        {**(failed if number in failing else passed), "name": f"request{number}"}
        for number in range(MANY)
    )
    (folder / "many.html").write_bytes(b"".join(html.pieces(once.report, records)))
    browser.open(folder / "many.html")
    return browser


def focused(browser: Browser) -> str | None:
    title = "document.activeElement.closest('details')?.querySelector('.title').textContent"
    found: str | None = browser.ask(title)
    return found


def elements(browser: Browser) -> int:
    found: int = browser.ask("document.querySelectorAll('*').length")
    return found


def titles(browser: Browser) -> list[str]:
    found: list[str] = browser.ask(f"{VISIBLE}.map(d => d.querySelector('.title').textContent)")
    return found


def until(browser: Browser, expected: list[str]) -> None:
    wait_until(lambda: titles(browser), lambda found: found == expected)


def test_the_page_asks_for_nothing_else_and_has_no_errors(page: Browser) -> None:
    assert titles(page) == ["first", "second", "third"]
    assert page.complaints() == []
    assert [url.partition(":")[0] for url in page.requested()] == ["file"]


def test_failures_are_open_and_show_what_was_asserted_and_exchanged(page: Browser) -> None:
    opened = f"{VISIBLE}.filter(d => d.open).map(d => d.innerText).join()"
    text = page.ask(opened)
    assert "status == 404" in text
    assert "status is 200" in text
    assert '"state": "done"' in text
    assert "First byte" in text
    assert "first" not in text.partition("\n")[0]
    widths = page.ask(
        "[...document.querySelectorAll('details[open] .waterfall rect')]"
        ".map(r => r.getBoundingClientRect().width)"
    )
    assert len(widths) >= 2
    assert min(widths) > 0


def test_the_search_finds_requests_by_what_is_in_them(page: Browser) -> None:
    page.press("/", *"needle")
    until(page, ["second"])
    assert page.ask("document.getElementById('shown').textContent") == "1 of 3"
    page.press(*"xyz")
    until(page, [])
    assert page.ask("document.getElementById('nothing').checkVisibility()")
    page.press("Escape")
    until(page, ["first", "second", "third"])


def test_the_page_is_read_by_keyboard(page: Browser) -> None:
    page.press("j")
    assert focused(page) == "first"
    page.press("j", "j", "j")
    assert focused(page) == "third"
    page.press("Enter")
    assert page.ask("document.activeElement.parentNode.open")
    page.press("k")
    assert focused(page) == "second"
    page.press("f")
    assert titles(page) == ["second"]
    page.press("f", "o")
    assert page.ask(f"{VISIBLE}.every(d => d.open)")
    page.press("c")
    assert not page.ask(f"{VISIBLE}.some(d => d.open)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_dark(page: Browser, scheme: str) -> None:
    page.in_colors(scheme)
    page.press("o")
    contrasts = page.ask("""
    (() => {
      const light = (color) => {
        const parts = color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
          .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
      };
      const behind = (one) => {
        for (let at = one; at; at = at.parentElement) {
          const color = getComputedStyle(at).backgroundColor;
          if (!/, 0\\)$/.test(color)) return color;
        }
      };
      return [...document.querySelectorAll('body *')]
        .filter((one) => one.checkVisibility() && [...one.childNodes]
          .some((node) => node.nodeType === 3 && node.textContent.trim()))
        .map((one) => {
          const two = [light(getComputedStyle(one).color), light(behind(one))].sort();
          return [(Math.max(...two) + 0.05) / (Math.min(...two) + 0.05), one.outerHTML];
        }).sort((a, b) => a[0] - b[0]);
    })()""")
    assert len(contrasts) > 40
    assert contrasts[0][0] >= 4.5, contrasts[0]  # WCAG 2.2, level AA
    dark = page.ask("getComputedStyle(document.body).backgroundColor") == "rgb(20, 25, 31)"
    assert dark == (scheme == "dark")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_that_keeps_people_from_using_the_page(
    page: Browser, scheme: str
) -> None:
    page.in_colors(scheme)
    page.press("o")
    assert page.barriers() == []


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_window(page: Browser, width: int) -> None:
    page.call(
        "Emulation.setDeviceMetricsOverride",
        width=width, height=800, deviceScaleFactor=1, mobile=False,
    )  # fmt: skip
    page.press("o")
    assert page.ask("document.documentElement.scrollWidth") <= width
    page.call("Emulation.clearDeviceMetricsOverride")


def test_what_servers_send_is_shown_and_never_run(run, browser: Browser, folder: Path) -> None:
    answers = {f"/{number}": response(one) for number, one in enumerate(HOSTILE)}
    with RawServer(by_path(answers)) as bad:
        text = "".join(
            f"### n{n}\nGET {bad.url}/{n}\n?? body == x\n\n" for n in range(len(HOSTILE))
        )
        run("a.http", "--html", "r.html", a_http=text)
    browser.open(folder / "r.html")
    assert len(titles(browser)) == len(HOSTILE)
    assert browser.ask("document.title").startswith("orgrest: ")
    assert (
        browser.ask("document.querySelectorAll('main script, main img, main iframe').length") == 0
    )
    assert browser.ask("document.querySelectorAll('main [onload], main [onerror]').length") == 0
    browser.press("o")
    shown = browser.ask("document.body.innerText")
    assert "<script>document.title='x'</script>" in shown
    assert "{{ 7 * 7 }}" in shown
    assert browser.complaints() == []


def test_a_script_that_got_in_would_not_be_run(page: Browser) -> None:
    page.ask("""
    const added = document.createElement('script');
    added.textContent = "document.title = 'x'";
    document.body.append(added);
    """)
    assert page.ask("document.title") != "x"


def test_a_report_of_thousands_of_requests_has_rows_only_near_the_screen(many: Browser) -> None:
    assert titles(many)[0] == "request0"
    assert elements(many) < 2000
    many.ask("scrollTo(0, document.body.scrollHeight)")
    wait_until(lambda: titles(many)[-1], lambda title: title == f"request{MANY - 1}")
    wait_until(lambda: elements(many), lambda count: count < 2000)
    many.press("o")
    opened = many.ask(f"{VISIBLE}.at(-1).innerText")
    assert '"state": "done"' in opened
    assert many.complaints() == []


def test_the_search_finds_at_each_key_what_was_never_on_the_screen(many: Browser) -> None:
    many.press("/", *"request498")
    assert titles(many) == ["request498", *(f"request{n}" for n in range(4980, 4990))]
    many.press("7")
    assert titles(many) == ["request4987"]
    many.press("Escape")
    assert many.ask("document.getElementById('shown').textContent") == ""
    many.press("/", *"==")
    assert titles(many) == ["request70", "request2345"]
    many.press("Escape", "/", *"class=")
    assert titles(many) == []


def test_printing_prints_all_requests(many: Browser) -> None:
    rows = "document.querySelectorAll('details.request').length"
    many.ask("dispatchEvent(new Event('beforeprint'))")
    assert many.ask(rows) == MANY
    many.ask("dispatchEvent(new Event('afterprint'))")
    wait_until(lambda: elements(many), lambda count: count < 2000)
    # Printing some of them really: the browser takes half a minute for the pages of all.
    many.press("/", *"request49")
    many.ask(f"addEventListener('afterprint', () => {{ window.printed = {rows} }}, true)")
    assert many.ask(rows) < 111
    many.call("Page.printToPDF", transferMode="ReturnAsStream")
    assert many.ask("printed") == 111


def test_thousands_of_requests_are_read_by_keyboard(many: Browser) -> None:
    many.press(*"j" * 55)
    assert focused(many) == "request54"
    many.press("Tab")
    assert focused(many) == "request55"
    many.press(*"j" * 15)
    assert focused(many) == "request70"
    many.press("f")
    assert titles(many) == ["request70", "request2345"]
    assert focused(many) == "request70"
    many.press("j")
    assert focused(many) == "request2345"
    many.press("f")
    assert focused(many) == "request2345"
    many.press("k", "Enter")
    assert focused(many) == "request2344"
    inside = "document.activeElement.parentNode.querySelector('.inside')?.checkVisibility()"
    wait_until(lambda: many.ask(inside))
    many.press("Escape", "k")
    assert focused(many) == f"request{MANY - 1}"
    top, bottom = many.ask(
        "(({top, bottom}) => [top, bottom])(document.activeElement.getBoundingClientRect())"
    )
    assert 0 < top < bottom < many.ask("innerHeight")
