"""Determines the charset of a body from its Content-Type, its first bytes and its declaration."""

from __future__ import annotations

import codecs
import re

from orgrest.regular import compiled

_PARAMETER = compiled(r';\s*charset\s*=\s*(?:"([^"]*)"|([^\s;"]+))', re.IGNORECASE)
_XML_ENCODING = compiled(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([\w.-]+)["']""")
_HTML_CHARSET = compiled(rb"""<meta[^>]*?\bcharset\s*=\s*["']?([\w.-]+)""", re.IGNORECASE)
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # begins with the mark of UTF-16
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_BOM = compiled(b"|".join(map(re.escape, _BOMS)))
# Python codecs that are not charsets of the web; some take quadratic time.
_NO_CHARSETS = frozenset(
    "idna punycode unicode_escape raw_unicode_escape undefined mbcs oem".replace("_", "-").split()
)


def codec_of(body: bytes, content_type: str) -> tuple[str, str | None]:
    """Return the codec for a body with a Content-Type, which removes a byte order mark.

    If the charset is unknown, the codec is UTF-8, and the second value is the charset.
    """
    match = _PARAMETER.search(content_type)
    charset = match and (match[1] if match[1] is not None else match[2].strip("'"))
    if match is None:
        beginning, within = body[:1024], None
        kind = content_type.partition(";")[0].lower()
        if "xml" in kind or beginning.lstrip().startswith(b"<?xml"):
            within = _XML_ENCODING.search(beginning)
        elif "html" in kind:
            within = _HTML_CHARSET.search(beginning)
        charset = within and within[1].decode("ascii", "replace")
    codec = marked_codec(body)
    if codec is not None and (not charset or charset.lower().startswith("utf")):
        return codec, None
    codec = _codec(charset) if charset else "utf-8"
    if codec in ("utf-16", "utf-32"):
        return f"{codec}-le", None  # the Encoding Standard's default without a BOM
    return (codec, None) if codec is not None else ("utf-8", charset)


def marked_codec(body: bytes) -> str | None:
    """Return the codec that the byte order mark of a body names, or None if it has none."""
    match = _BOM.match(body)
    return None if match is None else _BOMS[match[0]]


def _codec(charset: str) -> str | None:
    try:
        info = codecs.lookup(charset)
        "".encode(info.name)  # raises for a codec that is not a charset, like rot13
    except (LookupError, ValueError, TypeError):
        return None
    return None if info.name.replace("_", "-") in _NO_CHARSETS else info.name
