"""What verb's headings inherit: extended URLs, overridden queries and headers, a body.

Source: verb's README ("Add more requests under the same host", "HTTP methods", "Request headers").
"""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orgrest import classes
from orgrest.http import verb
from orgrest.http.parsing.verb import parse
from orgrest.http.values import Context
from orgrest.model import OrgrestError, Request, Source

NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from(["1", "2", "x%20y", ""])
LEVELS = st.fixed_dictionaries(
    {
        "path": st.lists(st.sampled_from(["v1", "users", "me"]), max_size=2),
        "query": st.dictionaries(NAMES, VALUES, max_size=3),
        "headers": st.dictionaries(st.sampled_from(["X-A", "x-a", "Accept", "X-B"]), VALUES),
        "body": st.sampled_from(["", "one", "two\nlines"]),
        "fragment": st.sampled_from(["", "", "top"]),
    }
)
METHODS = st.sampled_from(["get", "POST", "template"])


def merged(*levels: str) -> Request:
    parsed = [parse(Source(level)).requests[0] for level in levels]
    return verb.expand(classes.evolve(parsed[-1], above=tuple(parsed[:-1])), Context())


@given(st.lists(st.tuples(LEVELS, METHODS), min_size=1, max_size=4))
def test_a_request_has_the_last_word_of_each_heading_above_it(
    given: list[tuple[dict[str, dict[str, str]], str]],
) -> None:
    texts = []
    for number, (level, method) in enumerate(given):
        query = "&".join(f"{name}={value}" for name, value in level["query"].items())
        url = "http://h.example" * (not number) + "".join(f"/{path}" for path in level["path"])
        url += f"?{query}" * bool(query) + f"#{level['fragment']}" * bool(level["fragment"])
        headers = "".join(f"{name}: {value}\n" for name, value in level["headers"].items())
        texts.append(
            f"{'get' if number + 1 == len(given) else method} {url}\n{headers}\n{level['body']}"
        )
    request = merged(*texts)
    url = urlsplit(request.url)
    assert (url.scheme, url.netloc) == ("http", "h.example")
    path = "".join(f"/{path}" for level, _ in given for path in level["path"])
    assert url.path.strip("/") == path.strip("/")
    query: dict[str, str] = {}
    headers: dict[str, str] = {}
    for level, _ in given:
        query |= level["query"]
        named = {name.lower() for name in level["headers"]}
        headers = {name: value for name, value in headers.items() if name.lower() not in named}
        headers |= level["headers"]
    sent = [part.partition("=")[::2] for part in url.query.split("&") if part]
    assert dict(sent) == query
    assert len(parse_qsl(url.query, keep_blank_values=True)) == len(query)
    assert dict(request.headers) == headers
    bodies = [level["body"] for level, _ in given if level["body"]]
    assert request.body == (bodies[-1].encode() if bodies else None)
    assert request.method == "GET"
    fragments = [level["fragment"] for level, _ in given if level["fragment"]]
    assert url.fragment == (fragments[-1] if fragments else "")


@pytest.mark.parametrize("origin", ["https://h.example", "http://h.example:81", "http://o.example"])
def test_another_origin_takes_nothing_of_the_headings_above(origin: str) -> None:
    request = merged("post http://h.example/a?x=1\nX-Key: k\n\nbody", f"get {origin}/b")
    assert (request.url, request.headers, request.body) == (f"{origin}/b", (), None)


def test_the_same_origin_in_other_words_continues() -> None:
    request = merged("get http://h.example/a\nX-Key: k", "get HTTP://H.example:80/b")
    assert request.url == "http://h.example/a/b"
    assert request.headers == (("X-Key", "k"),)


@pytest.mark.parametrize(
    ("levels", "reason"),
    [
        (["template http://h/"], "no method here or in a parent heading: change"),
        (["get /path"], "no http:// or https:// URL with a host"),
        (["get http:///path"], "no http:// or https:// URL with a host"),
        (["get ftp://h/"], "expected an http or https URL, found ftp://h/"),
        (["get http://h/", "get mailto:me"], "expected an http or https URL, found mailto:me"),
        (["post http://h/\nContent-Type: a/b; charset=klingon\n\nbody"], "as klingon"),
        (["post http://h/\nContent-Type: a/b; charset=ascii\n\nü"], "as ascii"),
    ],
)
def test_what_cannot_be_sent_says_why(levels: list[str], reason: str) -> None:
    with pytest.raises(OrgrestError, match=reason):
        merged(*levels)
