"""`orgrest.http.registry`: methods, header fields, status codes, media types and values."""

import itertools
import json
import re
from pathlib import Path

import pytest

from orgrest.http import registry
from orgrest.http.registry import Entry, header, media_type, method, status, values
from orgrest.http.syntax import TCHARS

DATA = json.loads(Path(registry.__file__).with_suffix(".json").read_text("utf-8"))
TABLES: dict[str, list[dict[str, object]]] = {
    "methods": DATA["methods"],
    "headers": DATA["headers"],
    "statuses": DATA["statuses"],
    **DATA["values"],
}

# The names of IANA's HTTP Method Registry, and QUERY (RFC 10008).
METHODS = """
ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT CONNECT COPY DELETE GET HEAD LABEL LINK LOCK MERGE
MKACTIVITY MKCALENDAR MKCOL MKREDIRECTREF MKWORKSPACE MOVE OPTIONS ORDERPATCH PATCH POST PRI
PROPFIND PROPPATCH PUT QUERY REBIND REPORT SEARCH TRACE UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE
UPDATEREDIRECTREF VERSION-CONTROL
"""
# Those of its Status Code Registry.
CODES = [
    *range(100, 105),
    *range(200, 209),
    226,
    *range(300, 309),
    *range(400, 419),
    *range(421, 427),
    428,
    429,
    431,
    451,
    *range(500, 509),
    510,
    511,
]
# The permanent ones of its Field Name Registry.
PERMANENT = """
A-IM Accept Accept-Additions Accept-CH Accept-Datetime Accept-Encoding Accept-Features
Accept-Language Accept-Patch Accept-Post Accept-Query Accept-Ranges Accept-Signature
Access-Control-Allow-Credentials Access-Control-Allow-Headers Access-Control-Allow-Methods
Access-Control-Allow-Origin Access-Control-Expose-Headers Access-Control-Max-Age
Access-Control-Request-Headers Access-Control-Request-Method Age Allow ALPN Alt-Svc Alt-Used
Alternates Apply-To-Redirect-Ref Authentication-Control Authentication-Info Authorization
Available-Dictionary Cache-Control Cache-Group-Invalidation Cache-Groups Cache-Status
Cal-Managed-ID CalDAV-Timezones Capsule-Protocol CDN-Cache-Control CDN-Loop Cert-Not-After
Cert-Not-Before Clear-Site-Data Client-Cert Client-Cert-Chain Close Concealed-Auth-Export
Connection Content-Digest Content-Disposition Content-Encoding Content-Language Content-Length
Content-Location Content-Range Content-Security-Policy Content-Security-Policy-Report-Only
Content-Type Cookie Cross-Origin-Embedder-Policy Cross-Origin-Embedder-Policy-Report-Only
Cross-Origin-Opener-Policy Cross-Origin-Opener-Policy-Report-Only Cross-Origin-Resource-Policy
DASL Date DAV Delta-Base Deprecation Depth Destination Detached-JWS Dictionary-ID DPoP DPoP-Nonce
Early-Data ETag Expect Expires Forwarded From Hobareg Host If If-Match If-Modified-Since
If-None-Match If-Range If-Schedule-Tag-Match If-Unmodified-Since IM
Include-Referred-Token-Binding-ID Incremental Keep-Alive Label Last-Event-ID Last-Modified Link
Link-Template Location Lock-Token Max-Forwards Memento-Datetime Meter MIME-Version Negotiate NEL
OData-EntityId OData-Isolation OData-MaxVersion OData-Version Optional-WWW-Authenticate
Ordering-Type Origin Origin-Agent-Cluster OSCORE OSLC-Core-Version Overwrite Ping-From Ping-To
Position Prefer Preference-Applied Priority Proxy-Authenticate Proxy-Authentication-Info
Proxy-Authorization Proxy-Status Public-Key-Pins Public-Key-Pins-Report-Only Range Redirect-Ref
Referer Referrer-Policy Refresh Replay-Nonce Repr-Digest Retry-After Schedule-Reply Schedule-Tag
Sec-Fetch-Dest Sec-Fetch-Mode Sec-Fetch-Site Sec-Fetch-User Sec-Purpose Sec-Token-Binding
Sec-WebSocket-Accept Sec-WebSocket-Extensions Sec-WebSocket-Key Sec-WebSocket-Protocol
Sec-WebSocket-Version Server Server-Timing Set-Cookie Set-Txn Signature Signature-Input SLUG
SoapAction Status-URI Strict-Transport-Security Sunset TCN TE Timeout Topic Traceparent Tracestate
Trailer Transfer-Encoding TTL Upgrade Urgency Use-As-Dictionary User-Agent Variant-Vary Vary Via
Want-Content-Digest Want-Repr-Digest WWW-Authenticate X-Content-Type-Options X-Frame-Options
"""


@pytest.mark.parametrize("table", TABLES)
def test_every_entry_says_what_it_is(table: str) -> None:
    for entry in TABLES[table]:
        assert str(entry["name"]).strip(), entry
        assert re.fullmatch(r"\S.{0,98}\.", str(entry["description"])), entry


def test_every_entry_names_its_source() -> None:
    tables = (registry.methods(), registry.headers(), registry.statuses(), registry.media_types())
    for entry in itertools.chain.from_iterable(table.values() for table in tables):
        assert len(entry.source) >= 4, entry
    for found in registry.headers().values():
        for entry in (*found.values, *found.parameters):
            assert len(entry.source) >= 4, entry
    assert values("Overwrite")[0].source == "RFC 4918, section 10.6"
    assert values("Schedule-Reply")[0].source == "RFC 6638, section 8.1"


@pytest.mark.parametrize("table", TABLES)
def test_no_name_stands_twice_in_a_table_in_any_case(table: str) -> None:
    names = [(str(e["name"]).lower(), e.get("code")) for e in TABLES[table]]
    assert len(set(names)) == len(names)


def test_names_of_methods_and_fields_are_tokens() -> None:
    for name in itertools.chain(registry.methods(), registry.headers()):
        assert re.fullmatch(TCHARS, name)


def test_all_registered_methods_are_known() -> None:
    assert list(registry.methods()) == METHODS.split()


def test_all_registered_status_codes_are_known() -> None:
    assert list(registry.statuses()) == CODES


def test_all_permanent_header_fields_are_known_as_they_are_spelled() -> None:
    assert set(PERMANENT.split()) <= set(registry.headers())
    assert len(registry.headers()) > 250


def test_media_types_are_type_and_subtype() -> None:
    assert len(registry.media_types()) > 100
    for name in registry.media_types():
        assert re.fullmatch(rf"{TCHARS}/{TCHARS}", name)
        assert name == name.lower()


def test_every_field_finds_its_values_and_its_values_are_used() -> None:
    used: set[str] = {"media_types"}
    for entry in DATA["headers"]:
        used.update(entry.get("parameters", []))
        used.add(entry.get("values", "media_types"))
    assert used - {"methods", "headers"} == set(DATA["values"])
    for found in registry.headers().values():
        assert all(isinstance(e, Entry) for e in (*found.values, *found.parameters))


def test_a_field_is_found_in_any_case_and_keeps_its_spelling() -> None:
    for given, spelled in [
        ("www-authenticate", "WWW-Authenticate"),
        ("ETAG", "ETag"),
        ("dnt", "DNT"),
        ("te", "TE"),
        ("Content-type", "Content-Type"),
    ]:
        found = header(given)
        assert found is not None
        assert found.name == spelled
    assert header("x-nobody-has-this") is None


def test_a_field_knows_whether_it_may_be_repeated() -> None:
    singles = ["Content-Type", "Host", "Authorization", "Content-Length", "Location", "User-Agent"]
    lists = ["Accept", "Cache-Control", "Set-Cookie", "Link", "Via", "X-Forwarded-For", "Prefer"]
    assert all((found := header(name)) and found.single for name in singles)
    assert all((found := header(name)) and not found.single for name in lists)


def test_a_field_knows_in_which_messages_it_stands() -> None:
    used = {"Accept": "request", "ETag": "response", "Content-Type": "both"}
    for name, expected in used.items():
        found = header(name)
        assert found is not None
        assert found.used == expected


def test_lookups_tell_what_is_unknown() -> None:
    assert method("GET") == registry.methods()["GET"]
    assert method("get") is None
    assert status(404) == registry.statuses()[404]
    assert status(999) is None
    found = media_type("Application/JSON")
    assert found is not None
    assert found.source == "RFC 8259"
    assert media_type("application/x-nobody") is None
    assert values("x-nobody") == ()


def test_methods_know_whether_they_are_safe_and_idempotent() -> None:
    facts = {
        name: (entry.safe, entry.idempotent)
        for name in ("GET", "HEAD", "QUERY", "PUT", "DELETE", "POST", "PATCH", "PROPFIND")
        if (entry := method(name))
    }
    safe, repeatable, neither = (True, True), (False, True), (False, False)
    assert facts == {
        "GET": safe,
        "HEAD": safe,
        "QUERY": safe,
        "PROPFIND": safe,
        "PUT": repeatable,
        "DELETE": repeatable,
        "POST": neither,
        "PATCH": neither,
    }


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("Accept", "application/json"),
        ("content-type", "multipart/form-data"),
        ("Accept-Encoding", "gzip"),
        ("Cache-Control", "no-cache"),
        ("Authorization", "Bearer "),
        ("Accept-Charset", "utf-8"),
        ("Accept-Language", "en"),
        ("Connection", "keep-alive"),
        ("Expect", "100-continue"),
        ("TE", "trailers"),
        ("Sec-Fetch-Mode", "cors"),
        ("Prefer", "return=minimal"),
        ("Access-Control-Request-Method", "DELETE"),
        ("Vary", "Accept-Encoding"),
    ],
)
def test_a_field_offers_its_usual_values(field: str, expected: str) -> None:
    assert expected in [entry.name for entry in values(field)]


def test_parameters_follow_media_types() -> None:
    found = header("Content-Type")
    assert found is not None
    assert "charset=utf-8" in [entry.name for entry in found.parameters]
