"""The person who started a run, as far as they can sign in: at a terminal, or in an editor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable


@attrs.frozen
class Person:
    """Who can be asked, told a text, and shown a page in a browser, which tells whether it opened.

    What documents and servers say in these texts is made visible before it is shown.
    """

    _ask: Callable[[str], bool]
    _tell: Callable[[str], None]
    _open: Callable[[str], bool]

    def confirm(self, question: str) -> bool:
        """Return whether the person says yes."""
        return self._ask(_visible(question))

    def tell(self, text: str) -> None:
        """Show a text."""
        self._tell(_visible(text))

    def open(self, url: str) -> bool:
        """Show a page in the person's browser, and tell whether one was started."""
        from orgrest.http.auth.oauth2 import is_page

        return is_page(url) and self._open(url)


def _visible(text: str) -> str:
    from orgrest.rendering.sanitize import visible

    return visible(text, one_line=True)
