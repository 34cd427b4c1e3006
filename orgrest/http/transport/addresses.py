"""Distinguishes public IP addresses from those of this machine or network.

A public server that redirects to a private address (`http://169.254.169.254/`, a router, a service
on loopback) would make the client send requests that the server cannot send itself (SSRF). Source:
IANA's registries of special-purpose addresses, as `ipaddress` has them.
"""

from __future__ import annotations

import ipaddress
import socket

from orgrest.model import TransportError

_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052: an IPv4 address in the last 32 bits


class PrivateAddressError(TransportError):
    """A redirect to a private address."""

    def __init__(self, host: str, address: str) -> None:
        """Create the error for `host` at `address`."""
        where = host if host == address else f"{host} ({address})"
        super().__init__(
            f"a public server redirects to a private address, {where}: not followed "
            "(--allow-private follows it)"
        )


def is_public(address: str) -> bool:
    """Tell whether an IP address is public, including an IPv4 address embedded in an IPv6 one."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        held = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if found in _TRANSLATED:
            held = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if held is not None:
            return is_public(str(held))
    return found.is_global and not found.is_multicast


def literal(host: str) -> str | None:
    """Return the address of a URL's host if no DNS lookup is needed, None for other names."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):  # RFC 6761
        return "127.0.0.1"
    try:
        found = socket.getaddrinfo(name, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return str(found[0][4][0])
