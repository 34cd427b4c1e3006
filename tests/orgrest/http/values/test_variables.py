"""Completing requests: the values of variables, errors, and secrets."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orgrest.http.parsing.restclient import parse
from orgrest.http.values import Context, Inputs, expand, references
from orgrest.http.values.context import Captured
from orgrest.http.values.files import read_env_file
from orgrest.http.values.javascript import parsed_or
from orgrest.model import ExpansionError, OrgrestError, Request, RequestSyntaxError, Source


def complete(text: str, scope: Context | None = None, index: int = 0) -> Request:
    document = parse(Source(text, file="f.http"))
    return expand(document.requests[index], scope or Context())


def body(text: str, scope: Context | None = None) -> str:
    data = complete(f"{text}", scope).body
    return "" if data is None else data.decode()


def url(definitions: str, target: str, scope: Context | None = None) -> str:
    return complete(f"{definitions}\nGET http://h/{target}", scope).url.removeprefix("http://h/")


def error(text: str, scope: Context | None = None, index: int = 0) -> str:
    with pytest.raises(OrgrestError) as caught:
        complete(text, scope, index)
    return str(caught.value)


def notices(text: str, scope: Context | None = None) -> list[str]:
    return [str(notice) for notice in complete(text, scope).notices]


# --------------------------------------------------------------------------------- which name it is


@pytest.mark.parametrize(
    ("definitions", "target", "expected"),
    [
        (":a = one", ":a", "one"),
        (":a = one", "{{a}}", "one"),
        (":a = one", "{{ a }}x", "onex"),
        (":a = one", "x:a", "xone"),
        (":a = one", ":a.json", "one.json"),
        (":a = one", "::a", ":one"),
        (":a = one", ":a:a/:a", "oneone/one"),
        (":a = one", ":abc/:a_b/:a-b/:a1/:aé", ":abc/:a_b/:a-b/:a1/:aé"),
        (":a = one\n:abc = two", ":abc/:a", "two/one"),
        (":a.b = two", ":a.b/:a", "two/:a"),
        (":a = one\n:a.b = two", ":a.b", "two"),
        (":a+b = two", ":a+b", "two"),
        (":my-var_1 = v", ":my-var_1", "v"),
        (":Foo = X\n:foo = y", ":Foo:foo:FOO", "Xy:FOO"),
        (":80 = x", ":8098/h:80/:80/1:80", ":8098/h:80/x/1:80"),
        (":30 = x", "10:30/:30", "10:30/x"),
        (":a = 1", ":undefined", ":undefined"),
        (":a =", "[:a]", "[]"),
        (":é = 1", ":é", "1"),
    ],
)
def test_a_name_is_replaced_where_exactly_it_is_meant(
    definitions: str, target: str, expected: str
) -> None:
    assert url(definitions, target) == expected


def test_ports_and_times_stay_whatever_is_defined() -> None:
    text = ':a = x\n:8 = y\n:9 = z\nPOST http://h:8098/\n\n{"t": "10:30", "u": "a:b"}'
    request = complete(text)
    assert request.url == "http://h:8098/"
    assert request.body == b'{"t": "10:30", "u": "a:b"}'


def test_variables_are_replaced_in_url_headers_and_body() -> None:
    text = ":v = x\nPOST :base/:v\nX-{{v}}: a :v {{v}}\n:v: y\n\n:v {{v}}"
    request = complete(f":base = http://h\n{text}")
    assert request.url == "http://h/x"
    assert request.headers == (("X-x", "a x x"), ("x", "y"))
    assert request.body == b"x x"


def test_values_may_hold_variables_that_are_defined_further_down() -> None:
    assert url(":a = x=1&y=:b\n:b = {{c}}\n:c = 3", "?:a") == "?x=1&y=3"


def test_a_request_does_not_see_what_is_defined_below_it() -> None:
    text = "GET http://h/:a\n#\n:a = 1\nGET http://h/:a"
    assert complete(text, index=0).url == "http://h/:a"
    assert complete(text, index=1).url == "http://h/1"


def test_a_value_of_several_lines_goes_into_a_body_with_its_lines() -> None:
    text = ':b = <<\n{\n  "a": :n\n}\n#\n:n = 1\nPOST http://h/\n\n:b'
    assert body(text) == '{\n  "a": 1\n}'


# ---------------------------------------------------------------------------------- what is refused


def test_an_undefined_name_in_braces_is_an_error_with_its_place() -> None:
    text = "POST http://h/\nX: 1\n\nline\n  a {{nope}} b"
    assert error(text) == "f.http:5:5: the variable nope is not defined"
    assert error("GET http://h/{{x}}") == "f.http:1:14: the variable x is not defined"
    assert error(":a = b {{x}}\nGET http://h/:a") == "f.http:1:8: the variable x is not defined"


def test_a_misspelt_name_is_reported_with_the_variable_that_was_probably_meant() -> None:
    assert error(":token = 1\nGET http://h/{{tokn}}").endswith("; did you mean token?")
    captured = Context()
    captured.captures["session"] = Captured("1")
    assert error("GET http://h/{{sesion}}", captured).endswith("; did you mean session?")
    below = "GET http://h/{{tokn}}\n#\n:token = 1"
    assert error(below).endswith("the variable tokn is not defined")  # nor is token, at this point
    assert error(":tokn = {{token}}\nGET http://h/:tokn").endswith("token is not defined")


@pytest.mark.parametrize(
    "text", ['{"a":{"b":{}}}', '{{"a": 1}}', "{{}}", "{{ }}", "{{a b}}", "{{", "{{f(x)}}"]
)
def test_braces_that_hold_no_name_are_text(text: str) -> None:
    assert body(f"POST http://h/\n\nx{text}") == f"x{text}"


@pytest.mark.parametrize(
    ("definitions", "message"),
    [
        (":a = x:a", "f.http:1:7: the variable a refers to itself: a -> a"),
        (
            ":a = :b\n:b = {{c}}\n:c = :a",
            "f.http:3:6: the variable a refers to itself: a -> b -> c -> a",
        ),
        (":a := base64(:a)", "f.http:1:14: the variable a refers to itself: a -> a"),
    ],
)
def test_a_variable_that_refers_to_itself_is_an_error(definitions: str, message: str) -> None:
    assert error(f"{definitions}\nGET http://h/:a") == message


def test_variables_that_multiply_stop_before_they_fill_the_memory() -> None:
    lines = [":a0 = " + "x" * 1000] + [f":a{n} = " + f":a{n - 1}" * 10 for n in range(1, 12)]
    message = error("\n".join(lines) + "\nPOST http://h/\n\n:a11")
    assert message.endswith("the values of the variables exceed 64 MiB in total")


def test_a_long_chain_of_variables_is_an_error_and_no_crash() -> None:
    lines = [f":a{n} = :a{n + 1}" for n in range(5000)] + [":a5000 = end"]
    message = error("\n".join(lines) + "\nGET http://h/:a0")
    assert message.endswith("variables are nested more than 100 levels deep")
    short = [f":a{n} = :a{n + 1}" for n in range(90)] + [":a90 = end"]
    assert url("\n".join(short), ":a0") == "end"


@pytest.mark.parametrize(
    "target", ["/relative", "example.org", ":undefined", "ftp://h/", "http://", "https:///x"]
)
def test_a_url_that_is_not_absolute_is_an_error(target: str) -> None:
    assert error(f"GET {target}").startswith(
        "f.http:1:5: expected an absolute http or https URL, found "
    )


@pytest.mark.parametrize(
    ("target", "proposed"),
    [
        ("localhost:8080/x", True),
        ("localhost", True),
        ("example.org/a?b", True),
        ("api:8080", True),
        ("/relative", False),
        ("ftp://example.org/", False),
        ("mailto:me", False),
        ("nowhere", False),
    ],
)
def test_a_url_without_a_scheme_is_completed_in_the_error(target: str, proposed: bool) -> None:
    assert error(f"GET {target}").endswith(f"; did you mean http://{target}?") is proposed


@pytest.mark.parametrize("name", ["bad name", "", "a\nb"])
def test_a_header_name_that_is_invalid_after_replacing_is_an_error(name: str) -> None:
    scope = Context(Inputs(overrides={"n": name}))
    assert "invalid header name" in error("GET http://h/\n{{n}}: 1", scope)


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0b"])
def test_a_line_break_cannot_come_into_a_header_through_a_variable(value: str) -> None:
    scope = Context().block(literal={"v": value})
    message = error("GET http://h/\nX-A: :v", scope)
    assert message == "f.http:2:1: the value of X-A contains a line break or a NUL"


def test_the_first_problem_of_a_request_is_raised_and_others_continue() -> None:
    text = "GET http://h/\nbad\nworse\n#\nGET http://h/2"
    with pytest.raises(RequestSyntaxError) as caught:
        complete(text)
    assert (caught.value.file, caught.value.line, caught.value.column) == ("f.http", 2, 1)
    assert complete(text, index=1).url == "http://h/2"


# ------------------------------------------------------------------------------------- reports


def test_an_undefined_name_is_reported_where_only_a_variable_makes_sense() -> None:
    text = "POST http://h/:id/x:y/:z?q=:w\nX-A: :tok\nX-B: a :b\n\n:body"
    assert notices(text) == [
        "f.http:1:15: undefined variable id: sent as written",
        "f.http:1:23: undefined variable z: sent as written",
        "f.http:2:6: undefined variable tok: sent as written",
    ]


def test_a_misspelt_variable_is_not_sent_without_a_note() -> None:
    text = (
        ":token = abc\n:order-id = 5\n:auth = Bearer :tokn\nPOST http://h/?q=:toekn\n"
        'A: Basic u :tokenn\nB: :auth\n\n{"a": ":order_id", "b":":order-id"}'
    )
    assert notices(text, Context().block(values={"host": "x"})) == [
        "f.http:4:18: undefined variable toekn: sent as written; did you mean :token?",
        "f.http:5:12: undefined variable tokenn: sent as written; did you mean :token?",
        "f.http:3:16: undefined variable tokn: sent as written; did you mean :token?",
        "f.http:8:8: undefined variable order_id: sent as written; did you mean :order-id?",
    ]
    assert len(notices("POST http://x\n\n:hots", Context().block(values={"hosts": "x"}))) == 1
    names = Context().block(values={"nulls": "x", "trues": "x", "falsey": "x", "truth": "x"})
    found = notices('POST http://x\n\n{"a":null,"b":true,"c":false,"d":trut}', names)
    assert [notice.partition("variable ")[2][:5] for notice in found] == ["trut:"]


@pytest.mark.parametrize(
    "literal",
    [
        "10:30:45",
        '{"a":true,"b":null}',
        "http://h:8080",
        ":smile:",
        "urn:tokens",
        "::tokens",
        "a:to",
    ],
)
def test_text_with_a_colon_that_is_no_misspelt_variable_is_sent_without_a_note(
    literal: str,
) -> None:
    text = f":token = 1\n:h = 2\n:user-30 = 3\nPOST http://x\nA: b {literal}\n\n{literal}"
    assert notices(text) == []


@pytest.mark.parametrize(
    ("placeholder", "instead"),
    [
        ("{{$uuid}}", "uuid()"),
        ("{{ $guid }}", "uuid()"),
        ("{{$random.uuid}}", "uuid()"),
        ("{{$timestamp}}", 'now("%s")'),
        ("{{$timestamp -1 d}}", ""),
        ("{{$datetime iso8601}}", "now()"),
        ("{{$processEnv API_KEY}}", 'env("API_KEY")'),
        ("{{$env.API_KEY}}", 'env("API_KEY")'),
        ("{{$dotenv API_KEY}}", 'env("API_KEY")'),
        ("{{$dotenv %API_KEY}}", ""),
        ("{{$secret github}}", 'secret("github")'),
        ("{{$randomInt 1 6}}", ""),
        ("{{$randomInt x y}}", ""),
        ("{{$random.integer(1, 6)}}", ""),
        ("{{$input What?}}", ""),
    ],
)
@pytest.mark.parametrize(
    "request_", ["GET http://h/{}", "GET http://h\nA: {}", "POST http://h\n\n{}"]
)
def test_a_dynamic_value_of_request_files_is_not_sent_as_text(
    placeholder: str, instead: str, request_: str
) -> None:
    reason = error(request_.format(placeholder)).partition(": ")[2]
    written = placeholder.replace("{ ", "{").replace(" }", "}")
    assert reason.startswith(f"{written} is not defined in restclient's language, ")
    assert reason.partition("; instead, write :value := ")[2].partition(", and")[0] == instead


@pytest.mark.parametrize(
    "text",
    [
        "{{$foo bar}}",
        "{{$ uuid}}",
        "{{#each x}}",
        '{"a":{"b":{}}}',
        "{{$randomInt 1\n6}}",
        "{{$uuid 1}",
    ],
)
def test_other_braces_are_sent_as_before(text: str) -> None:
    assert complete(f":a = 1\nPOST http://h\n\n{text}").body == text.encode()
    assert complete(":a = 1\nPOST http://h\n\n{{$foo :a}}").body == b"{{$foo 1}}"
    assert complete(":$uuid = 1\nPOST http://h\n\n{{$uuid}}").body == b"1"


def test_a_defined_name_is_not_told() -> None:
    assert notices(":id = 1\nGET http://h/:id/:8080/") == []


# --------------------------------------------------------------------------------- header variables


def test_a_variable_of_header_lines_stands_in_its_place() -> None:
    text = (
        ":t = tok\n:h = <<\nAuthorization: Bearer :t\n\n X-B : 2\n#\nGET http://h/\nA: 1\n:h\nC: 3"
    )
    assert complete(text).headers == (
        *(("A", "1"), ("Authorization", "Bearer tok"), ("X-B", "2"), ("C", "3")),
    )


def test_several_cookie_headers_are_sent_as_the_one_that_servers_read() -> None:
    text = ":h = <<\nCookie: c=:t\n#\n:t = 3\nGET http://h/\nCookie: a=1\nA: 1\ncookie: b=2\n:h"
    assert complete(text).headers == (("Cookie", "a=1; b=2; c=3"), ("A", "1"))


def test_header_variables_that_cannot_be_read_are_errors() -> None:
    reason = "the variable nope, which should contain headers, is not defined"
    assert error("GET http://h/\n:nope") == f"f.http:2:1: {reason}"
    assert error(":h = nonsense\nGET http://h/\n:h").endswith(
        "f.http:3:1: the variable h contains a line that is not a header: nonsense"
    )


# --------------------------------------------------------------------------------- which value wins


def test_the_command_line_wins_over_the_block_and_the_block_over_var() -> None:
    scope = Context(Inputs(overrides={"a": "cli"})).block(
        values={"a": "var", "b": "var", "c": "var"}
    )
    assert url(":a = own\n:b = own", ":a/:b/:c", scope) == "cli/own/var"


def test_values_written_in_the_document_are_looked_through_and_others_are_not() -> None:
    scope = Context(Inputs(overrides={"o": ":x"})).block(
        values={"v": "<:x>"}, literal={"l": "{{x}}:x"}
    )
    assert body(":x = 1\nPOST http://h/\n\n:v :l :o", scope) == "<1> {{x}}:x :x"


def test_an_error_in_a_var_is_reported_where_it_is_used() -> None:
    scope = Context().block(values={"v": "{{nope}}"})
    assert error("GET http://h/\nX: :v", scope) == "f.http:2:4: the variable nope is not defined"


def test_a_capture_is_seen_by_later_blocks_and_loses_against_their_own() -> None:
    scope = Context()
    first = parse("GET http://h/").requests[0]
    scope.capture(first, "id", "{{evil}}:evil")
    assert url("", ":id", scope.block()) == "{{evil}}:evil"
    assert url(":id = own", ":id", scope.block()) == "own"
    assert url("", ":id", scope.block(values={"id": "var"})) == "var"
    assert scope.captured().keys() == {"id"}


def test_a_capture_wins_over_what_stands_above_it_in_its_own_block() -> None:
    scope = Context().block(values={"id": "var"})
    document = parse(
        ":id = old\nGET http://h/:id\n#\nGET http://h/:id\n#\n:id = new\nGET http://h/:id"
    )
    urls = []
    for request in document.requests:
        urls.append(expand(request, scope).url[-3:])
        scope.capture(request, "id", "got")
    assert urls == ["old", "got", "new"]


def test_a_capture_wins_over_var_in_its_own_block() -> None:
    scope = Context().block(values={"id": "var"})
    document = parse("GET http://h/:id\n#\nGET http://h/:id")
    assert expand(document.requests[0], scope).url == "http://h/var"
    scope.capture(document.requests[0], "id", "got")
    assert expand(document.requests[1], scope).url == "http://h/got"


# -------------------------------------------------------------------------------------- expressions


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('"text"', "text"),
        (r'"a\"b\\c\nd"', 'a"b\\c\nd'),
        ("42", "42"),
        ("-1.50", "-1.50"),
        (":b", "bee"),
        ("{{ b }}", "bee"),
        ('"<:b> {{b}}"', "<bee> bee"),
        ('env("HOME_DIR")', "/home"),
        ('env("MISSING", "default")', "default"),
        ('env("MISSING", env("HOME_DIR"))', "/home"),
        ('(getenv "HOME_DIR")', "/home"),
        ('env("FILE_ONLY")', "from file"),
        ('env("BOTH")', "environment"),
        ('base64("user:pass")', "dXNlcjpwYXNz"),
        ('base64("é")', "w6k="),
        ('urlencode("a b&c/é")', "a%20b%26c%2F%C3%A9"),
        ('urlencode(base64("??>"))', "Pz8%2B"),
    ],
)
def test_an_expression_has_its_value(expression: str, value: str) -> None:
    scope = Context(
        Inputs(
            environ={"HOME_DIR": "/home", "BOTH": "environment"},
            env_file={"FILE_ONLY": "from file", "BOTH": "file"},
        )
    )
    assert body(f":b = bee\n:a := {expression}\nPOST http://h/\n\n:a", scope) == value


def test_a_uuid_is_one_within_a_request_and_another_in_the_next() -> None:
    text = ":id := uuid()\nPOST http://h/:id\n\n:id"
    first, second = complete(text), complete(text)
    assert first.url.endswith((first.body or b"").decode())
    assert re.fullmatch(r"http://h/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", first.url)
    assert first.url != second.url


def test_now_is_rfc_3339_or_as_asked() -> None:
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", url(":n := now()", ":n"))
    assert re.fullmatch(r"20\d\d/\d\d", url(':n := now("%Y/%m")', ":n"))
    assert url(':n := now("%s")', ":n").isdigit()


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ('(concat "a" "b")', "Emacs Lisp is not run: available: env"),
        ('(format-time-string "%s")', 'Emacs Lisp is not run: use now("%Y-%m-%d") instead'),
        ("(base64-encode-string x)", "Emacs Lisp is not run: use base64(...) instead"),
        ("(+ 1 2)", "Emacs Lisp is not run: available: env"),
        ("'(1)", "Emacs Lisp is not run"),
        ("#'x", "Emacs Lisp is not run"),
        ("fill-column", "fill is not a function call"),
        ("uuid", "uuid is not a function call"),
        ("1 2", "unexpected 2"),
        ("", "missing expression"),
        ("env(", "missing expression"),
        ('env("A"', "missing ) after the arguments of env"),
        ('env("A" "B")', "missing ) after the arguments of env"),
        ("env()", "env takes 1 to 2 arguments, found 0"),
        ('uuid("x")', "uuid takes 0 arguments, found 1"),
        ('system("rm")', "unknown function system. Available: env"),
        ('__import__("os")', "unknown function __import__"),
        ("base64(nope)", "nope is not a function call"),
        ("base64(:nope)", "the variable nope is not defined"),
        ('"unclosed', 'unexpected "unclosed'),
        (
            'env("UNSET")',
            'the environment variable UNSET is not set; use env("UNSET", "...") to give',
        ),
        ("base64(" * 200, "unexpected"),
        ('netrc("h")', "there is no netrc file"),
        ('now("\udcff")', "now: "),
    ],
)
def test_what_is_no_expression_is_an_error_that_tells_what_is(
    expression: str, message: str
) -> None:
    got = error(f":a := {expression}\nGET http://h/:a")
    assert re.match(rf"f\.http:[12]:\d+: {re.escape(message)}", got), got


def test_an_expression_that_no_request_uses_is_not_computed() -> None:
    assert url(":a := (car 1)\n:b = 1", ":b") == "1"


def test_a_lisp_expression_over_several_lines_is_refused_where_it_stands() -> None:
    got = error(':a := <<\n(concat "x"\n  "y")\n#\nGET http://h/:a')
    assert got.startswith("f.http:2:1: Emacs Lisp is not run:")


# ------------------------------------------------------------------------------------------ secrets


def test_what_comes_from_the_environment_is_a_secret_and_so_is_what_is_made_of_it() -> None:
    scope = Context(
        Inputs(environ={"PW": "p w", "EMPTY": "", "BLANK": " "}, env_file={"F": "file"})
    )
    text = (
        ':p := env("PW")\n:f := env("F")\n:e := env("EMPTY")\n:b := env("BLANK")\n'
        ':d := env("NONE", "default")\n:q := urlencode(:p)\n:h := base64("me:{{p}}")\n'
        ':n := base64("plain")\nPOST http://h/\nX: :p:f:e:b:d:q:h:n'
    )
    request = complete(text, scope)
    basic = base64.b64encode(b"me:p w").decode()
    assert request.secrets == scope.secrets.texts == {"p w", "file", "p%20w", basic}


def test_credentials_in_a_url_are_a_secret_where_they_hold_one() -> None:
    scope = Context(Inputs(environ={"PW": "pw"}))
    complete(':p := env("PW")\nGET http://me:{{p}}@h/', scope)
    assert base64.b64encode(b"me:pw").decode() in scope.secrets.texts
    open_scope = Context()
    complete("GET http://me:pw@h/", open_scope)
    assert open_scope.secrets.texts == frozenset()


def test_secrets_of_one_block_are_known_in_the_next_but_not_in_another_document() -> None:
    scope = Context(Inputs(environ={"PW": "pw"}))
    complete(':p := env("PW")\nGET http://h/:p', scope.block())
    assert complete("GET http://h/", scope.block()).secrets == {"pw"}
    assert Context(Inputs(environ={"PW": "pw"})).secrets.texts == frozenset()


def test_secrets_do_not_stand_in_the_repr_of_a_request() -> None:
    scope = Context(Inputs(environ={"PW": "s3cret"}))
    scope.env("PW")
    assert "s3cret" not in repr(complete("GET http://h/", scope))


# -------------------------------------------------------------------------------------------- netrc


@pytest.fixture
def netrc(tmp_path: Path) -> Path:
    path = tmp_path / "netrc"
    path.write_text("machine api.example.org\nlogin me\naccount acc\npassword s3cret\n")
    path.chmod(0o600)
    return path


def test_netrc_gives_passwords_and_logins_as_secrets(netrc: Path) -> None:
    scope = Context(Inputs(netrc=netrc))
    text = (
        ':p := netrc("api.example.org")\n:l := netrc("api.example.org", "login")\n'
        ':a := netrc("api.example.org", "account")\nPOST http://h/\n\n:l :p :a'
    )
    assert body(text, scope) == "me s3cret acc"
    assert scope.secrets.texts == {"me", "s3cret", "acc"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('netrc("other")', "has no entry for other"),
        (
            'netrc("api.example.org", "port")',
            "unknown netrc field port: expected login, account or password",
        ),
    ],
)
def test_what_netrc_does_not_hold_is_an_error(netrc: Path, call: str, message: str) -> None:
    assert message in error(f":p := {call}\nGET http://h/:p", Context(Inputs(netrc=netrc)))


@pytest.mark.parametrize("content", [b"machine\n", b"nonsense here\n", b"\xff\xfe"])
def test_a_netrc_file_that_is_invalid_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "netrc"
    path.write_bytes(content)
    path.chmod(0o600)
    message = error(':p := netrc("h")\nGET http://h/:p', Context(Inputs(netrc=path)))
    assert message.startswith("f.http:1:7: ")


def test_a_netrc_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    message = error(':p := netrc("h")\nGET http://h/:p', Context(Inputs(netrc=tmp_path / "none")))
    assert message.endswith("No such file or directory")


# ---------------------------------------------------------------------------------------- env files


def test_an_env_file_is_read_as_its_users_write_it(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes(
        b"\xef\xbb\xbf# comment\r\nA=1\n\nexport B = two words # note\n"
        b'C=\'single $x # kept\'\nD="a\\nb\\"c" # note\nE=\nF=x#y\n  G=#\n'
    )
    assert read_env_file(path) == {
        "A": "1",
        "B": "two words",
        "C": "single $x # kept",
        "D": 'a\nb"c',
        "E": "",
        "F": "x#y",
        "G": "",
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"A=1\nnonsense\n", ".env:2: expected a line NAME=value"),
        (b"A B=1\n", ".env:1: expected a line NAME=value"),
        (b"=1\n", ".env:1: expected a line NAME=value"),
        (b'A="x\n', ".env:1: the quote is never closed"),
        (b"A='x' y\n", ".env:1: the quote is never closed"),
        (b"\xff", ".env: the env file is not UTF-8"),
    ],
)
def test_an_env_file_that_is_invalid_is_an_error(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / ".env"
    path.write_bytes(content)
    with pytest.raises(OrgrestError) as caught:
        read_env_file(path)
    assert str(caught.value).endswith(message)


def test_a_missing_env_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OrgrestError, match=r"could not read the env file: No such file"):
        read_env_file(tmp_path / "none")


# -------------------------------------------------------------------------------------------- files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "doc"
    inside.mkdir()
    (inside / "data.bin").write_bytes(b"\x00\xff:a {{a}}\r\n")
    (inside / "sub").mkdir()
    (inside / "sub" / "x.txt").write_bytes(b"sub")
    (tmp_path / "outside.txt").write_bytes(b"private")
    return inside


def test_a_file_is_the_body_byte_for_byte_with_a_variable_in_its_path(folder: Path) -> None:
    text = ":n = data\nPOST http://h/\n\n< :n.bin"
    assert complete(text, Context(Inputs(directory=folder))).body == b"\x00\xff:a {{a}}\r\n"


def test_a_blocks_own_folder_is_where_its_paths_start(folder: Path) -> None:
    scope = Context(Inputs(directory=folder)).block(directory=folder / "sub")
    assert complete("POST http://h/\n\n< x.txt", scope).body == b"sub"
    assert complete("POST http://h/\n\n< ../data.bin", scope).body is not None


@pytest.mark.parametrize(
    "path", ["../outside.txt", "sub/../../outside.txt", "link.txt", "linked/outside.txt", "~/x"]
)
def test_nothing_outside_the_documents_folder_is_read(folder: Path, path: str) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "outside.txt")
    (folder / "linked").symlink_to(folder.parent)
    message = error(f"POST http://h/\n\n< {path}", Context(Inputs(directory=folder)))
    assert message.startswith("f.http:3:3: ")
    assert "is outside the document's folder: use --allow-read" in message


@pytest.mark.parametrize("mark", [".git", ".hg"])
def test_a_file_of_the_repository_around_the_document_is_read(folder: Path, mark: str) -> None:
    (folder.parent / mark).mkdir()
    assert (
        complete("POST http://h/\n\n< ../outside.txt", Context(Inputs(directory=folder))).body
        == b"private"
    )


@pytest.mark.parametrize(
    "path", ["../../above.txt", "../.env", "../.git/config", "../a/.b/c", "~/x"]
)
def test_nothing_above_the_repository_and_nothing_hidden_in_it_is_read(
    folder: Path, path: str
) -> None:
    repository = folder.parent
    for file in (".env", ".git/config", "a/.b/c"):
        (repository / file).parent.mkdir(parents=True, exist_ok=True)
        (repository / file).write_text("secret")
    message = error(f"POST http://h/\n\n< {path}", Context(Inputs(directory=folder)))
    assert "is outside the document's folder: use --allow-read" in message


@pytest.mark.parametrize("path", [".git/config", "sub/.hg/hgrc", "link.txt", ".GIT/config"])
def test_the_data_of_a_repository_in_the_documents_folder_is_read_only_when_allowed(
    folder: Path, path: str
) -> None:
    """A clone's `.git/config` may contain a token, and the document may be somebody else's."""
    for file in (".git/config", "sub/.hg/hgrc", ".GIT/config"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("secret")
    (folder / "link.txt").symlink_to(folder / ".git" / "config")
    text = f"POST http://h/\n\n< {path}"
    message = error(text, Context(Inputs(directory=folder)))
    data = (folder / path).resolve().parent
    assert f"is in a .git or .hg folder: use --allow-read {data}" in message
    assert "is in a .git or .hg" in error(
        text, Context(Inputs(directory=folder, allow_read=[folder]))
    )
    assert complete(text, Context(Inputs(directory=folder, allow_read=[data]))).body == b"secret"


def test_the_data_of_a_repository_elsewhere_is_not_read_through_its_link(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "config").write_text("secret")
    (folder / ".git").symlink_to(folder / "data")
    message = error("POST http://h/\n\n< .git/config", Context(Inputs(directory=folder)))
    assert "is in a .git or .hg folder" in message


@pytest.mark.parametrize("home", ["", "user"])
def test_a_repository_that_holds_the_users_home_opens_nothing(
    folder: Path, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.parent / ".git").mkdir()
    monkeypatch.setenv("HOME", str(folder.parent / home))
    message = error("POST http://h/\n\n< ../outside.txt", Context(Inputs(directory=folder)))
    assert "is outside the document's folder: use --allow-read" in message


def test_an_allowed_folder_is_read(folder: Path) -> None:
    scope = Context(Inputs(directory=folder, allow_read=[folder.parent]))
    assert complete("POST http://h/\n\n< ../outside.txt", scope).body == b"private"
    absolute = folder.parent / "outside.txt"
    assert complete(f"POST http://h/\n\n< {absolute}", scope).body == b"private"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("none.txt", "could not read none.txt: No such file or directory"),
        ("sub", "sub is not a regular file"),
        ("pipe", "pipe is not a regular file"),
        ("a\0b", "file names cannot contain NUL characters"),
        ("x" * 300, f"could not read {'x' * 300}: File name too long"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_and_nothing_hangs(
    folder: Path, path: str, reason: str
) -> None:
    import os

    os.mkfifo(folder / "pipe")
    assert (
        error(f"POST http://h/\n\n< {path}", Context(Inputs(directory=folder)))
        == f"f.http:3:3: {reason}"
    )


def test_the_home_of_nobody_and_a_loop_of_links_are_errors(folder: Path) -> None:
    (folder / "loop").symlink_to(folder / "loop")
    for path in ("~no-such-user/x", "loop"):
        message = error(f"POST http://h/\n\n< {path}", Context(Inputs(directory=folder)))
        assert message.startswith(f"f.http:3:3: could not read {path}:")


def test_a_file_without_permission_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    message = error("POST http://h/\n\n< data.bin", Context(Inputs(directory=folder)))
    assert message == "f.http:3:3: could not read data.bin: Permission denied"


def test_multipart_parts_may_be_files_and_lines_end_in_crlf(folder: Path) -> None:
    text = (
        ':v = <<\n1\n2\n#\nPOST http://h/\nContent-Type: multipart/form-data; boundary="B b"\n\n'
        '--B b\nContent-Disposition: form-data; name="f"; filename="x"\n\n< data.bin\n'
        '--B b\nContent-Disposition: form-data; name="v"\n\n:v\n--B b--'
    )
    request = complete(text, Context(Inputs(directory=folder)))
    assert request.body == (
        b'--B b\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\n'
        b"\x00\xff:a {{a}}\r\n"
        b'\r\n--B b\r\nContent-Disposition: form-data; name="v"\r\n\r\n1\r\n2\r\n--B b--\r\n'
    )
    assert request.notices == ()


def test_a_file_line_in_another_body_is_text(folder: Path) -> None:
    text = "POST http://h/\nContent-Type: text/plain\n\na\n< data.bin"
    assert complete(text, Context(Inputs(directory=folder))).body == b"a\n< data.bin"


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        ("multipart/mixed", "--B\n\nx\n--B--", "the multipart Content-Type has no boundary"),
        ("multipart/mixed; boundary=C", "--B\n\nx\n--B--", "the body has no line --C"),
        ("multipart/mixed; boundary=B", "--B\n\nx", "the body does not end with --B--"),
    ],
)
def test_a_multipart_body_that_does_not_fit_its_boundary_is_reported(
    kind: str, content: str, reason: str
) -> None:
    text = f"POST http://h/\nContent-Type: {kind}\n\n{content}"
    assert notices(text) == [f"f.http:4:1: {reason}"]


def test_a_note_about_a_secret_boundary_does_not_show_a_part_of_it() -> None:
    text = ':pw := env("PW")\nPOST http://h/\nContent-Type: multipart/mixed; boundary=:pw\n\nx'
    (notice,) = notices(text, Context(Inputs(environ={"PW": "one/half other"})))
    assert notice == "f.http:5:1: the body has no line --***"


@pytest.mark.parametrize(
    ("given", "target"),
    [("http://me:p%40ss@h", ":v/"), ("p%40ss@h/x", "http://me::v"), ("p%40ss", "http://me::v@h/")],
)
def test_the_credentials_in_a_url_are_secret_if_a_secret_contains_them(
    given: str, target: str
) -> None:
    scope = Context(Inputs(environ={"V": given}))
    complete(f':v := env("V")\nGET {target}', scope)
    assert scope.secrets.texts == {given, base64.b64encode(b"me:p@ss").decode(), "p@ss"}


# ------------------------------------------------------------------------------------- any document


@settings(deadline=None)
@given(
    st.text(':a{} =\n#xGET http/"()<', max_size=60),
    st.dictionaries(st.sampled_from(["a", "x", "ab"]), st.text(":ax{}", max_size=5), max_size=3),
)
def test_any_document_is_completed_or_refused_with_its_place(
    text: str, values: dict[str, str]
) -> None:
    document = parse(Source(f"{text}\n#\nPOST http://h/:a\nX: :x\n\n:ab {text}", file="f"))
    refused: list[OrgrestError] = []
    for request in document.requests:
        try:
            expand(request, Context().block(values=values))
        except (ExpansionError, RequestSyntaxError) as error:
            refused.append(error)
    assert all(error.file == "f" and error.line for error in refused)


@settings(deadline=None)
@given(st.text(), st.text())
def test_a_literal_value_is_sent_as_it_is(value: str, other: str) -> None:
    scope = Context().block(literal={"v": value, "other": other})
    request = complete("POST http://h/\n\n{{v}}", scope)
    assert request.body == value.encode("utf-8", "surrogateescape")


class Scanned(str):
    """A string that counts the characters that `find` examines."""

    __slots__ = ("count",)

    def find(self, wanted, start=0, stop=None):  # type: ignore[no-untyped-def]
        found = super().find(wanted, start, len(self) if stop is None else stop)
        self.count += (found if found >= 0 else len(self)) - start
        return found


@pytest.mark.parametrize("line", ["{{a}}", "{{ a }} {{", "{{$uuid}}x", r"\\{{a}}", ":a{{a}}"])
@pytest.mark.parametrize("restclient", [True, False])
def test_many_variables_in_one_line_take_time_in_proportion(line: str, restclient: bool) -> None:
    counts = []
    for times in (1000, 4000):
        text = Scanned(line * times)
        text.count = 0
        found = list(
            references.references(text, 0, len(text), (1,), lambda _: True, restclient=restclient)
        )
        assert found
        counts.append(text.count)
    assert counts[1] <= 5 * counts[0]


@pytest.mark.parametrize("text", ["[NaN]", '{"a": -Infinity}', "[1", " 1", "true story"])
def test_what_is_not_json_reaches_scripts_unchanged(text: str) -> None:
    assert parsed_or(text) == text
