"""The command ``orgrest logins``, which lists or forgets saved logins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orgrest.commands import program
from orgrest.commands.console import safe

if TYPE_CHECKING:
    from orgrest.run.login_store import LoginStore


@program.command()
@click.option(
    "--clear", is_flag=True, help="Forget all logins and the documents' permissions to use them."
)
@click.option("--forget", metavar="ID", help="Forget the login whose id starts with ID.")
def logins(*, clear: bool, forget: str | None) -> None:
    """List or forget saved logins.

    When you sign in for a request, the login is saved for later runs. Each login is listed with the
    documents that may use it. Tokens are stored in the system's keychain by keyring. Set the
    environment variable ORGREST_LOGINS to a folder to store tokens in files there, or to `off` to
    save no logins. A server may accept a forgotten login's token until the token expires.

    \b
    orgrest logins
    orgrest logins --forget 3f
    """
    from orgrest.model import OrgrestError
    from orgrest.run.login_store import VARIABLE, LoginStore

    if clear and forget is not None:
        raise click.UsageError("--clear and --forget cannot be combined")
    store = LoginStore.of_user()
    if store is None:
        raise OrgrestError(f"{VARIABLE}=off: logins are not saved")
    kept_logins = list(store.all())
    if forget is not None:
        kept_logins = [(key, entry) for key, entry in kept_logins if key.startswith(forget)]
        if len(kept_logins) != 1:
            what = "matches more than one login" if kept_logins else "matches no login"
            raise OrgrestError(f"--forget {forget} {what}: `orgrest logins` lists them")
    if clear or forget is not None:
        _forget(store, kept_logins)
        return
    for key, login in kept_logins:
        click.echo(_line(key, login))
        for document, to in _uses(login):
            click.echo(safe(f"          {document} -> {to}", one_line=True))


def _forget(store: LoginStore, logins: list[tuple[str, dict[str, Any]]]) -> None:
    for key, login in logins:
        store.remove(key)
        click.echo(f"forgotten: {_line(key, login)}")


def _line(key: str, login: dict[str, Any]) -> str:
    from orgrest.http.auth.oauth2 import origin

    scope = f"  scope {login.get('scope')}" if login.get("scope") else ""
    page = origin(str(login.get("page")))
    line = f"{key[:8]}  {page}  client {login.get('client')}{scope}  {_until(login)}"
    return safe(line, one_line=True)


def _until(login: dict[str, Any]) -> str:
    from datetime import datetime

    token = login.get("token")
    if not isinstance(token, dict):
        return "no token"
    if token.get("refresh"):
        return "refreshed automatically"
    try:
        ends = datetime.fromtimestamp(token["expires"]).astimezone()
    except (KeyError, TypeError, ValueError, OSError, OverflowError):
        return "expiry unknown"
    return f"until {ends:%Y-%m-%d %H:%M}"


def _uses(login: dict[str, Any]) -> list[tuple[str, str]]:
    try:
        return [(str(document), str(to)) for document, to in login["allowed"]]
    except (KeyError, TypeError, ValueError):
        return []
