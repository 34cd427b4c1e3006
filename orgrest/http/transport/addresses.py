"""Tell public IP addresses from those of this machine or network.

A public server that redirects to a private address (`http://169.254.169.254/`, a router, a service
on loopback) would make the client send requests that the server cannot send itself (SSRF). So an
address is private unless it is known to be public. Sources: IANA's special-purpose address
registries for IPv4 and IPv6, as of RFC 9637; RFC 6052 (NAT64), RFC 3056 (6to4), RFC 5214 (ISATAP).
"""

from __future__ import annotations

import ipaddress
import socket

from orgrest.model import TransportError

_UNICAST = ipaddress.IPv6Network("2000::/3")
"""The only IPv6 block from which IANA assigns public addresses."""
_SPECIAL_6 = tuple(
    map(
        ipaddress.IPv6Network,
        ("2001::/23", "2001:db8::/32", "3fff::/20"),  # protocols (Teredo, ORCHID), documentation
    )
)
_SPECIAL_4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
            *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
            *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
        ),
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_ISATAP = 0x5EFE
"""The middle of an ISATAP interface identifier, before the IPv4 address in the last 32 bits."""


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
    """Return whether an IP address is public, as is any IPv4 address embedded in it.

    False for text that is not an address.
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in _SPECIAL_4)
    low = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
    if parsed.ipv4_mapped is not None or parsed in _NAT64:
        return is_public(str(low))
    if parsed not in _UNICAST or any(parsed in network for network in _SPECIAL_6):
        return False
    if parsed.sixtofour is not None and not is_public(str(parsed.sixtofour)):
        return False
    return int(parsed) >> 32 & 0xFFFF != _ISATAP or is_public(str(low))


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
