"""Waits for a service before a run begins (`--wait-for`)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from orgrest.http.transport.limits import TIME_OVER
from orgrest.model import OrgrestError, Request, TransportError

if TYPE_CHECKING:
    from orgrest.http.transport.client import Client

PAUSE = 0.2
"""Seconds between two attempts."""
_ATTEMPT = 5.0


def wait_for(url: str, client: Client, seconds: float, deadline: float | None = None) -> None:
    """Wait until a URL responds with a status below 500.

    Raises OrgrestError after `seconds`, or at the `deadline` of the run (`time.monotonic`).
    """
    end, limit = time.monotonic() + seconds, f"within {seconds:g} s (--wait-timeout)"
    if deadline is not None and deadline < end:
        end, limit = deadline, f"before {TIME_OVER}"
    if "://" not in url:
        url = f"http://{url}"
    while True:
        left = end - time.monotonic()
        try:
            response = client.send(
                Request("GET", url), follow=False, timeout=max(0.05, min(left, _ATTEMPT))
            )
            if response.status < 500:
                return
            why = f"status {response.status}"
        except TransportError as error:
            why = error.reason
        if time.monotonic() + PAUSE >= end:
            raise OrgrestError(f"{url} was not ready {limit}: {why}")
        time.sleep(PAUSE)
