"""The netrc file: a login, account and password for each host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from pathlib import Path


def look_up(path: Path | None, host: str, field: str) -> str:
    """Return the `login`, `account` or `password` that a netrc file has for `host`.

    Raises `OrgrestError` if there is none.
    """
    import netrc

    if path is None:
        raise OrgrestError("there is no netrc file")
    try:
        found = netrc.netrc(str(path)).authenticators(host)
    except OSError as error:
        raise OrgrestError(f"cannot read {path}: {error.strerror}") from error
    except (netrc.NetrcParseError, UnicodeError) as error:
        reason = error.msg if isinstance(error, netrc.NetrcParseError) else "not UTF-8"
        raise OrgrestError(f"cannot read {path}: {reason}") from error
    if found is None:
        raise OrgrestError(f"{path} has no entry for {host}")
    fields = dict(zip(("login", "account", "password"), found, strict=True))
    if field not in fields:
        raise OrgrestError(f"netrc knows login, account and password, not {field}")
    return fields[field] or ""
