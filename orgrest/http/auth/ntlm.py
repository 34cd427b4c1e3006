"""`Authorization: NTLM ...` and `Negotiate ...` (RFC 4559): not supported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from orgrest.http.auth import Document


def read(value: str, _: Document) -> str:
    """Refuse credentials; the bare word is sent unchanged."""
    scheme, blank, _given = value.partition(" ")
    if blank and _given.strip():
        reason = f"{scheme} is not supported: it signs a connection, not a request"
        raise OrgrestError(reason, code="credentials")
    return value
