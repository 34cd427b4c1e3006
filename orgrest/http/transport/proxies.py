"""Which proxy a request goes through: the one of its run, or of the environment, or none.

The variables are curl's: `http_proxy` and `https_proxy` for a scheme, `all_proxy` for both, in
upper case, too; `no_proxy` lists hosts that are asked without any. A proxy's user and password are
shown nowhere.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from orgrest.http.transport.urls import show
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orgrest.http.transport.urls import Url

_PROXY = re.compile(
    r"(?P<scheme>https?|socks(?:4a?|5h?)?)://(?:(?P<user>[^\s/]*)@)?"
    r"(?P<place>(?:\[[0-9a-f:.]+\]|[\w.-]+)(?::[0-9]{1,5})?)/?",
    re.IGNORECASE | re.ASCII,
)


def read_proxy(text: str) -> str:
    """Return the URL of a proxy; without a scheme it is one of http. Raises OrgrestError."""
    url = text if "://" in text else f"http://{text}"
    if _PROXY.fullmatch(url) is None:
        raise OrgrestError(f"not a proxy: {without_userinfo(url)}")
    return re.sub(r"^socks(?=:)", "socks5", url, flags=re.IGNORECASE)


def without_userinfo(proxy: str) -> str:
    """Return a proxy's URL for display."""
    scheme, separator, rest = proxy.partition("://")
    return show(f"{scheme}{separator}{rest.rpartition('@')[2]}")


def is_socks(proxy: str) -> bool:
    """Tell whether a proxy is one of SOCKS, which tunnels whatever is sent."""
    return proxy.lower().startswith("socks")


def chosen(wanted: str, allowed: Iterable[str]) -> str:
    """Return the proxy that a document wants, if it is among those that it may choose.

    Its user and password are the document's, else those that stand with the allowed one. Raises
    OrgrestError.
    """
    proxy = read_proxy(wanted)
    for one in allowed:
        if _place(one) == _place(proxy):
            return proxy if "@" in proxy else one
    shown = without_userinfo(proxy)
    raise OrgrestError(
        f"@proxy {shown}: a document chooses no proxy unless the run is started with "
        f"--allow-proxy {shown}"
    )


def _place(proxy: str) -> str:
    return without_userinfo(proxy).lower().rstrip("/")


def proxy_for(url: Url, given: str | None) -> str | None:
    """Return the proxy for a URL: the one that is given, else the environment's.

    None if there is none, or if `no_proxy` has the host. Raises OrgrestError.
    """
    proxy = given or _of_environment(url.scheme)
    if not proxy or _is_listed(url, os.environ.get("no_proxy") or os.environ.get("NO_PROXY", "")):
        return None
    return read_proxy(proxy)


def _of_environment(scheme: str) -> str | None:
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies_environment

    proxies = getproxies_environment()
    return proxies.get(scheme) or proxies.get("all")


def _is_listed(url: Url, listed: str) -> bool:
    """Tell whether a list names a host: itself, a domain above it, its network, or all (`*`)."""
    names = re.split(r"[\s,]+", listed.strip().lower())
    if names == ["*"]:
        return True
    host = url.host.strip("[]").rstrip(".")
    return any(_names(name, host, url.port) for name in names if name)


def _names(name: str, host: str, port: int) -> bool:
    if "/" in name or ":" in host:
        return _holds(name, host)
    name, _, of_port = name.partition(":")
    name = name.strip(".")
    if of_port and of_port != str(port):
        return False
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _holds(network: str, host: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network.strip("[]"), strict=False)
    except ValueError:  # a host by name, or no network
        return False
