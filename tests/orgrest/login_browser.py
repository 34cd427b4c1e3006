"""A person's browser in tests of logins: an HTTP client that follows redirects and submits forms.

As a program, it opens the page in its argument, so `BROWSER` can name it.
"""

from __future__ import annotations

import html
import re
import sys
import threading
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urljoin, urlsplit

import requests

if TYPE_CHECKING:
    from collections.abc import Callable


class Browser:
    """Opens pages as a person's browser does, each in a thread. `pages` are the final pages.

    `answer` is the button that the person presses. With `None`, they close the page.
    """

    def __init__(self, answer: str | None = "allow") -> None:
        self.answer = answer
        self.opened: list[str] = []
        self.pages: list[requests.Response] = []
        self.before: Callable[[str], None] = lambda url: None
        self._threads: list[threading.Thread] = []

    def open(self, url: str) -> bool:
        self.opened.append(url)
        thread = threading.Thread(target=self._visit, args=(url,), daemon=True)
        self._threads.append(thread)
        thread.start()
        return True

    def join(self) -> list[requests.Response]:
        """Wait for all pages, and return them."""
        for thread in self._threads:
            thread.join(30)
        return self.pages

    def _visit(self, url: str) -> None:
        self.before(url)
        if self.answer is not None:
            self.pages.append(sign_in(url, self.answer))


def sign_in(url: str, answer: str = "allow") -> requests.Response:
    """Open a page, press a button of its form, and follow the redirects."""
    with requests.Session() as session:
        session.trust_env = False
        page = session.get(url, timeout=30)
        form = re.search(r'<form method="post" action="([^"]*)"', page.text)
        if form is None:
            return page
        fields = dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', page.text))
        action = urljoin(page.url, html.unescape(form[1]))
        return session.post(action, {**fields, "answer": answer}, timeout=30)


def callback(url: str) -> tuple[str, str]:
    """Return the redirect URI and the state of an authorization request."""
    given = parse_qs(urlsplit(url).query)
    return given["redirect_uri"][0], given["state"][0]


if __name__ == "__main__":
    sign_in(sys.argv[1])
