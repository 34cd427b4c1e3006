"""Content codings: which ones are supported, and whether a body's data are complete."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from urllib3.response import GzipDecoderState

from orgrest.http.transport.headers import accept_encoding
from orgrest.http.transport.urls import show
from orgrest.installing import install_command

if TYPE_CHECKING:
    import http.client
    from collections.abc import Iterator

PACKAGES = {"br": "brotli", "zstd": "backports.zstd", "gzip": "", "x-gzip": "", "deflate": ""}
"""The codings that urllib3 supports, each with the package that it needs, "" for none."""


def is_cut_short(decoder: Any) -> bool:
    """Tell whether one of urllib3's decoders expects more data, which they do not report."""
    if decoder is None:
        return False
    if hasattr(decoder, "_decoders"):  # for several codings
        return any(is_cut_short(one) for one in decoder._decoders)
    inner = getattr(decoder, "_obj", None)
    if inner is None:  # an unknown version of urllib3: assume completeness
        return False
    if hasattr(inner, "is_finished"):  # brotli's
        return not inner.is_finished()
    if inner.eof:
        return False
    state = getattr(decoder, "_state", GzipDecoderState.FIRST_MEMBER)
    if state == GzipDecoderState.OTHER_MEMBERS:
        # Garbage behind the first member is accepted; zlib detects it from its second byte on.
        try:
            inner.copy().decompress(b"\0")
        except zlib.error as error:
            return "incorrect header check" not in str(error)
    return bool(state != GzipDecoderState.SWALLOW_DATA)


def oddities(response: http.client.HTTPResponse) -> Iterator[str]:
    """Return warnings about a response's header."""
    if response.headers.defects:
        yield "the response's header holds a line that is none; the lines below it are lost"
    announced = response.headers.get("Content-Length", "0").strip("0")
    if response.status == 204 and (announced or "Transfer-Encoding" in response.headers):
        yield "the response announces a body, which one with status 204 never has: it is not read"
    codings = response.headers.get("Content-Encoding", "")
    for coding in filter(None, (part.strip().lower() for part in codings.split(","))):
        package = PACKAGES.get(coding)
        if coding == "identity" or package == "" or (package and coding in accept_encoding()):
            continue
        hint = f": {install_command(package)}" if package else ""
        yield f"the body is still encoded as {show(coding)}, which is not understood{hint}"
