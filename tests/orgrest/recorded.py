"""Random requests, and HAR files and curl commands that contain them."""

from __future__ import annotations

import json
import shlex
from typing import Any

from hypothesis import strategies as st

TYPES = ["application/json", "text/plain", "text/markdown", "application/x-www-form-urlencoded"]

# Lines with a meaning in a request file, which they must not get in a body.
LINES = st.sampled_from(
    ["{{a}}", "\\{{a}}", "{{{a}}}", "### x", "# @name x", "// x", "@a = b", ":a = b",
     "?? status == 1", "> {% x %}", "< file", "<@ file", ">> file", "GET http://h/",
     "HTTP/1.1 200 OK", "", " ", "\t", "{{", "}}", "a b&c=d%20", "run x.http", "/* x", "* heading",
     "#+end_src",
     "<<END", "é€𝄞", "a\rb"]
)  # fmt: skip
BODIES = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",))), st.lists(LINES).map("\n".join)
)
NAMES = st.text("abcXYZ-_09", min_size=1).map(lambda name: f"X-{name}")
VALUES = st.one_of(st.text(st.characters(min_codepoint=33, max_codepoint=126)), LINES).map(
    lambda text: text.replace("\r", "").strip()
)
PATHS = st.text("abcé{}:@#?&=+%$ /.~'\"", max_size=20).map(lambda text: text.replace("#", ""))
METHODS = st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "REPORT", "CUSTOM-VERB"])


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    headers = draw(st.lists(st.tuples(NAMES, VALUES), max_size=3))
    body = draw(st.none() | BODIES)
    if body is not None:
        headers.append(("Content-Type", draw(st.sampled_from(TYPES))))
    path = draw(PATHS).strip()
    return {
        "method": draw(METHODS),
        "url": f"http://h.example/x{path}",
        "headers": headers,
        "body": body,
    }


def har(entries: list[dict[str, Any]]) -> str:
    def request(one: dict[str, Any]) -> dict[str, Any]:
        found = {
            "method": one["method"],
            "url": one["url"],
            "httpVersion": "HTTP/1.1",
            "headers": [{"name": name, "value": value} for name, value in one["headers"]],
            "queryString": [],
            "cookies": [],
            "headersSize": -1,
            "bodySize": -1,
        }
        if one["body"] is not None:
            kind = dict(one["headers"])["Content-Type"]
            found["postData"] = {"mimeType": kind, "text": one["body"]}
        return {"startedDateTime": "2026-01-01T00:00:00Z", "time": 1, "request": found,
                "response": {"status": 200}, "cache": {}, "timings": {}, "_x": 1}  # fmt: skip

    return json.dumps(
        {"log": {"version": "1.2", "creator": {}, "entries": [request(entry) for entry in entries]}}
    )


def curl(request: dict[str, Any]) -> str:
    words = ["curl", "--path-as-is", "-X", request["method"], request["url"]]
    for name, value in request["headers"]:
        words += ["-H", f"{name}: {value}" if value else f"{name};"]
    if request["body"] is not None:
        words += ["--data-raw", request["body"]]
    return shlex.join(words)
