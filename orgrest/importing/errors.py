"""The errors of imports."""

from __future__ import annotations

from orgrest.model import OrgrestError


class ImportingError(OrgrestError):
    """A source that cannot be imported, or files that cannot be written."""
