"""Translates JavaScript tests from Postman, Insomnia and Bruno to assertions.

A test is translated only if assertions can express all of its statements. Everything else in a
script remains JavaScript. Sources: Postman's "Test script examples"; Bruno's "JavaScript
reference"; chaijs.com, "BDD".
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from orgrest import classes
from orgrest.convert.shared import texts
from orgrest.convert.shared.model import ConversionError, Note
from orgrest.http.assertions.language import ParsedAssertion, find

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LONGEST: Final = 50_000  # the maximum number of characters of a script that is parsed
_TOKEN: Final = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<string>"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?|`(?:[^`\\]|\\.)*+`?)
    | (?P<regex>(?:(?<=[(,=:\[!&|?{};])|(?<=[(,=:\[!&|?{};]\ )|(?<=return\ ))
        /(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,200}+\]){1,500}+/)
    | (?P<open>[({\[]) | (?P<close>[)}\]])
    | (?P<semicolon>;) | (?P<newline>\n\s*) | (?P<blank>[^\S\n]+)
    | (?P<other>[^\s\"'`(){}\[\];/]+|.)""",
    re.VERBOSE | re.DOTALL,
)
_CONTINUES: Final = re.compile(r"(?:catch|else|finally|in|instanceof)\b")
"""Matches a word that, at the start of a line, continues the statement on the line above."""
_STRING: Final = r"(?:\"(?:[^\"\\\n]|\\[\s\S])*\"|'(?:[^'\\\n]|\\[\s\S])*')"
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]+)\}|(\r\n|.))", re.DOTALL
)
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0",
                   "\n": "", "\r\n": "", "\u2028": "", "\u2029": ""}  # fmt: skip
_BLANKS: Final = re.compile(rf"({_STRING})|\s+")
_LITERAL: Final = rf"(?:-?\d+(?:\.\d+)?|true|false|null|{_STRING})"
_STEPS: Final = rf"(?:\.[A-Za-z_$][\w$]*|\[\d+\]|\[{_STRING}\])*"
_TEST: Final = re.compile(
    rf"(?:(?:pm|insomnia)\.)?test\(\s*(?P<name>{_STRING}|`[^`$]*`)\s*,\s*(?:async\s+)?"
    r"(?:function\s*\w*\s*\(\s*\)|\(\s*\)\s*=>)\s*\{(?P<body>.*)\}\s*\)",
    re.DOTALL,
)
_BRIEF: Final = re.compile(
    rf"(?:(?:pm|insomnia)\.)?test\(\s*(?P<name>{_STRING}|`[^`$]*`)\s*,\s*\(\s*\)\s*=>\s*(?P<body>[^{{].*)\)",
    re.DOTALL,
)
_OLD: Final = re.compile(
    rf"tests\[\s*(?P<name>{_STRING})\s*\]\s*=\s*(?P<left>[^=<>!]+?)\s*(?P<sign>={{2,3}})\s*(?P<right>{_LITERAL})"
)
_JSON: Final = (
    r"(?:(?:pm|insomnia)\.response\.json\(\)|JSON\.parse\(\s*responseBody\s*\)|"
    r"res\.(?:getBody\(\)|body))"
)
_ASSIGNED: Final = re.compile(
    rf"(?:var|let|const)\s+(?P<name>[A-Za-z_$][\w$]*)\s*=\s*(?P<json>{_JSON})"
)
_CHANGED: Final = re.compile(
    r"\bdelete\s+(?P<deleted>[\w$]+)|(?<![\w$.])(?P<name>[A-Za-z_$][\w$]*)(?:\.[\w$]+|\[[^\[\]]*\])*?"
    r"(?:\s*(?:\+\+|--|(?:\*\*|<<|>>>?|&&|\|\||\?\?|[-+*/%&|^])?=(?![=>])"
    rf"(?!\s*{_JSON}\s*(?:[;}}\n]|\Z)))|"
    r"\.(?:copyWithin|fill|pop|push|reverse|shift|sort|splice|unshift)\()"
)
"""Matches code that changes a variable or a part of its value, unless it assigns the JSON."""
_LEAVES: Final = re.compile(
    r"(?:(?:do|else|for|if|switch|try|while)\b.*|\{.*)?\b(?:return|throw)\b", re.DOTALL
)
"""Matches a statement of a script after which the script may end."""
_RESPONSE: Final = re.compile(r"(?:pm|insomnia)\.response\.(?P<rest>.+)", re.DOTALL)
_EXPECT: Final = re.compile(
    r"(?:(?:pm|insomnia)\.)?expect\((?P<what>.+?)\)\s*(?P<chain>\.(?:to|is|not|be|have|and)\b.*)",
    re.DOTALL,
)
_HEADER: Final = re.compile(
    rf"(?:(?:pm|insomnia)\.response\.headers\.get|res\.getHeader|postman\.getResponseHeader)\(\s*(?P<name>{_STRING})\s*\)"
)
_OF: Final = r"(?:pm|insomnia)\.response"
_SUBJECTS: Final = (
    (rf"{_OF}\.code|responseCode\.code|res\.(?:getStatus\(\)|status)", "status"),
    (rf"{_OF}\.responseTime|responseTime|res\.(?:getResponseTime\(\)|responseTime)", "duration"),
    (rf"{_OF}\.text\(\)|responseBody", "body"),
)
_HAS_HEADER: Final = re.compile(rf"to\.have\.header\(\s*({_STRING})\s*(?:,\s*({_STRING}))?\s*\)")
_SIGNS: Final = {
    "below": "<", "lessThan": "<", "lt": "<", "above": ">", "greaterThan": ">", "gt": ">",
    "least": ">=", "gte": ">=", "most": "<=", "lte": "<=",
}  # fmt: skip
_COMPARED: Final = re.compile(rf"\.({'|'.join(_SIGNS)})\(\s*(-?\d+(?:\.\d+)?)\s*\)")
_ONE_OF: Final = re.compile(rf"\.oneOf\(\s*\[\s*({_LITERAL}(?:\s*,\s*{_LITERAL})*)\s*,?\s*\]\s*\)")
_SHALLOW: Final = re.compile(r"body \$(?:\.\w+|\[[^\]]*\])?")
"""Matches a subject without steps below the first, which may be missing without an error."""
_TYPES: Final = {"string": "isString", "number": "isNumber", "boolean": "isBoolean",
                 "array": "isArray", "object": "isObject"}  # fmt: skip
_JSON_OR_TEXT: Final = (
    "((text) => { try { return JSON.parse(text); } catch { return text; } })(pm.response.text())"
)
# The functions of other tools, and their equivalents in `pm`, which orgrest's scripts can use.
_AS_PM: Final = (
    (r"\binsomnia\.", "pm."),
    (r"\bbru\.set(?:Env|GlobalEnv|Collection|Folder)?Var\(", "pm.environment.set("),
    (r"\bbru\.get(?:Env|GlobalEnv|Collection|Folder|Request)?Var\(", "pm.environment.get("),
    (r"\bres\.(?:getBody\(\)|body\b)(?=\s*[.\[?])", "pm.response.json()"),
    # JSON, or else a text
    (r"\bres\.(?:getBody\(\)|body\b)", _JSON_OR_TEXT),
    (r"\bres\.(?:getStatus\(\)|status\b)", "pm.response.code"),
    (r"\bres\.getHeader\(", "pm.response.headers.get("),
    (r"\bres\.getResponseTime\(\)", "pm.response.responseTime"),
    (r"(?<![\w.$])(test|expect)\(", r"pm.\1("),
)  # fmt: skip
_HEADERS: Final = "add|all|count|each|filter|find|get|has|map|one|remove|toObject|upsert"
_OF_REQUEST: Final = "|".join(
    (
        r"(?!(?:url|body|headers|method|(?:add|remove|upsert)Header|id|name|description)\b)\w+",
        r"url\.(?!(?:getHost|getPath|getPathWithQuery|getQueryString|toString|update)\b)\w+(?:\.\w+)?",
        r"body\.(?!(?:isEmpty|raw|toString|update)\b)\w+",
        rf"headers\.(?!(?:{_HEADERS})\b)\w+",
    )
)
"""Matches the members of `pm.request` that orgrest does not have (except names, for messages)."""
_FOREIGN: Final = re.compile(
    r"\bpm\.(?:cookies\.jar|visualizer|execution\.(?!skipRequest)\w+|vault|require)\b"
    rf"|\bpm\.request\.(?:{_OF_REQUEST})"
    r"|(?<![\w.$])(?:(?:setTimeout|setInterval|structuredClone)(?=\()|Intl(?=\.))"
    r"|\brequire(?=\()|\bpostman\.setNextRequest\b|(?<![\w.$])res(?=\()"
    r"|\b(?:bru|req|res)\.\w+(?:\.\w+)*|(?<=\.)jsonSchema(?=\()"
    r"|\b(?:CryptoJS|xml2Json|cheerio|tv4|ajv|moment)(?=[.(])|(?<![\w.$])_\.\w+"
)
_BRACES: Final = re.compile(
    r"\b(?:(?:pm|insomnia)\.\w+\.set|postman\.set(?:Environment|Global)Variable|bru\.set\w*Var)"
    rf"\(\s*(?P<name>{_STRING})\s*,\s*(?![^;\n]{{0,300}}\breplaceIn\()[^;\n]{{0,300}}?\{{\{{"
)
"""Matches a call that sets a variable to a text with braces, which no run expands later."""
_GET_BODY: Final = """({raw} = {}) => {
  const text = pm.request.body.raw;
  const type = pm.request.headers.get("Content-Type") || "";
  if (type.startsWith("application/x-www-form-urlencoded")) {
    return [...new URLSearchParams(text)].map(([name, value]) => ({name, value, enabled: true}));
  }
  if (raw || !type.includes("json")) return text;
  try { return JSON.parse(text); } catch { return text; }
}"""
_SET_BODY: Final = """(body) => {
  const type = pm.request.headers.get("Content-Type") || "";
  const fields = (value, key) => (Object(value) !== value ? [{key, value}]
    : Object.entries(value).flatMap(([name, inner]) => (
      fields(inner, Array.isArray(value) ? key : key ? `${key}[${name}]` : name)
    )));
  const isJson = type.includes("json");
  if (typeof body === "string" || body === undefined || (body === null && !isJson)) {
    pm.request.body.update(body);
  } else if (type.startsWith("application/x-www-form-urlencoded")) {
    const urlencoded = Array.isArray(body)
      ? body.map(({name, value}) => ({key: name, value})) : fields(body);
    pm.request.body.update({mode: "urlencoded", urlencoded});
  } else {
    const options = {raw: {language: "json"}};
    pm.request.body.update({mode: "raw", raw: JSON.stringify(body), options});
  }
}"""
_REQ: Final = {
    "setHeader": "(key, value) => pm.request.headers.upsert({key, value})",
    "deleteHeader": "(key) => pm.request.headers.remove(key)",
    "getHeader": "(key) => pm.request.headers.get(key)",
    "getHeaders": "() => pm.request.headers.toObject()",
    "getMethod": "() => pm.request.method",
    "getUrl": "() => String(pm.request.url)",
    "getBody": _GET_BODY,
    "setMethod": "(method) => { pm.request.method = method; }",
    "setUrl": "(url) => { pm.request.url = url; }",
    "setBody": _SET_BODY,
}
"""JavaScript equivalents of the functions of Bruno's `req`, by function name."""
_REQ_BEGINS: Final = "const req = {"
_OWN: Final = re.compile(r"[(,]\s*res\s*[,)]|\b(?:const|let|var)\s+res\b|\bres\s*=>")
"""Matches a script's own declaration of `res`, such as a parameter, which shadows Bruno's `res`."""
_STATUS_WORDS: Final = {
    "to.be.ok": "200", "to.be.success": "2xx", "to.be.created": "201", "to.be.accepted": "202",
    "to.be.badRequest": "400", "to.be.unauthorized": "401", "to.be.forbidden": "403",
    "to.be.notFound": "404", "to.be.clientError": "4xx", "to.be.serverError": "5xx",
    "to.be.redirection": "3xx",
}  # fmt: skip


@classes.frozen
class Translated:
    """The assertions from a script, and the rest of the script.

    `titles` contains the name of each assertion's test. `script` is "" if nothing remains.
    """

    assertions: tuple[str, ...]
    script: str
    titles: tuple[str, ...] = ()


def translated(script: str) -> Translated:
    """Return the assertions that replace a script's tests, and the rest of the script."""
    if len(script) > _LONGEST or script.rfind("/*") > script.rfind("*/"):  # an unclosed comment
        return Translated((), script)
    statements = _statements(script)
    names: dict[str, str] = {}
    for statement in statements:
        if match := _ASSIGNED.fullmatch(statement):
            names[match["name"]] = match["json"]
    for match in _CHANGED.finditer("\n".join(statements)):
        names.pop(match["name"] or match["deleted"], None)
    assertions: list[str] = []
    left: list[str] = []
    titles: list[str] = []
    may_have_ended = False
    for statement in statements:
        may_have_ended |= _LEAVES.match(re.sub(_STRING, "", statement)) is not None
        of_statement = None if may_have_ended else _of_statement(statement, dict(names))
        if of_statement is None:
            left.append(statement)
        else:
            assertions += of_statement
            titles += [_title(statement)] * len(of_statement)
    if all(_ASSIGNED.fullmatch(line) for line in left):
        return Translated(tuple(assertions), "", tuple(titles))
    if not assertions:
        return Translated((), script.strip("\n"))
    return Translated(tuple(assertions), ";\n".join(left) + ";", tuple(titles))


def _title(statement: str) -> str:
    """Return the name of the test that a statement defines, or ""."""
    match = _OLD.fullmatch(statement) or _TEST.fullmatch(statement) or _BRIEF.fullmatch(statement)
    return _string(match["name"]) if match else ""


def all_translated(scripts: Iterable[str]) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    """Translate the tests in `scripts` to assertions. Return (assertions, remaining scripts).

    Each assertion has a title, which is "" if it has none. A script is left out if nothing remains
    of it. The remaining scripts use Postman's functions (see `as_pm`).
    """
    every = [translated(script) for script in scripts if script.strip()]
    assertions = (pair for each in every for pair in zip(each.assertions, each.titles, strict=True))
    return tuple(dict.fromkeys(assertions)), [as_pm(each.script) for each in every if each.script]


def notes_on(before: Iterable[str], after: Iterable[str], place: str) -> list[Note]:
    """Return notes about parts of a request's scripts that have no or another effect in orgrest.

    `before` and `after` are the scripts that run before and after the request at `place`. Notes
    about `before` have `blocks` set, because these parts may change the request.
    """
    notes = []
    for scripts, blocks in ((before, True), (after, False)):
        names = dict.fromkeys(name for script in scripts for name in foreign(script))
        if names:
            reason = (
                f"a script was imported unchanged, but it uses {', '.join(names)}, which orgrest "
                "does not provide"
            )
            notes.append(Note(place, reason, blocks))
        sets = (match for script in scripts for match in _BRACES.finditer(script))
        names = dict.fromkeys(_string(match["name"]) for match in sets)
        if names:
            reason = (
                f"a script sets {', '.join(names)} to a text with braces, which orgrest would send "
                "unchanged: write pm.variables.replaceIn(TEXT) in the script"
            )
            notes.append(Note(place, reason, blocks))
    return notes


def as_pm(script: str) -> str:
    """Return a script with the functions of other tools replaced by Postman's functions."""
    own = _OWN.search(script) is not None
    pairs = _code_and_strings(script)
    script = "".join(_code_as_pm(code, own=own) + string for code, string in pairs)
    used = [name for name in _REQ if re.search(rf"\breq\.{name}\(", script)]
    if used:
        script = f"{_REQ_BEGINS}{', '.join(f'{name}: {_REQ[name]}' for name in used)}}};\n{script}"
    return script


def _code_as_pm(code: str, *, own: bool) -> str:
    for pattern, instead in _AS_PM:
        if not (own and pattern.startswith(r"\bres\.")):
            code = re.sub(pattern, instead, code)
    return code


def _code_and_strings(script: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a script as pairs of code and the string literal after it.

    Templates, which may contain code, and comments are parts of the code.
    """
    start = 0
    for token in _TOKEN.finditer(script):
        if token.lastgroup == "string" and token[0][0] != "`":
            yield script[start : token.start()], token[0]
            start = token.end()
    yield script[start:], ""


def foreign(script: str) -> list[str]:
    """Return the names of the functions that a script uses but orgrest does not provide."""
    own = _OWN.search(script) is not None
    return [
        match[0]
        for code, _ in _code_and_strings(script)
        for match in _FOREIGN.finditer(code)
        if not (own and match[0].partition(".")[0] == "res")
        and not (script.startswith(_REQ_BEGINS) and match[0].partition(".")[2] in _REQ)
    ]


def _statements(script: str) -> list[str]:
    """Return the statements of a script, without comments."""
    statements: list[str] = []
    now: list[str] = []
    depth = 0
    for match in _TOKEN.finditer(script):
        kind = match.lastgroup
        if kind == "comment":
            continue
        depth += (kind == "open") - (kind == "close")
        ends = kind == "newline" and _ends(now, script, match.end())
        if depth <= 0 and (kind == "semicolon" or ends):
            statements.append("".join(now).strip())
            now = []
        else:
            now.append(match[0])
    return [statement for statement in [*statements, "".join(now).strip()] if statement]


def _ends(now: list[str], script: str, at: int) -> bool:
    """Return whether a line break before the offset `at` ends the statement `now`."""
    before = "".join(now[-3:]).rstrip()
    after = script[at : at + 1]
    goes_on = before[-1:] in "=+-*/%&|,.?:<>({[" or after in tuple(".?:+-*/%&|=,)]")
    return bool(before) and not goes_on and not _CONTINUES.match(script, at)


def _of_statement(statement: str, names: dict[str, str]) -> list[str] | None:
    """Return the assertions for a statement or test, or None if there is no equivalent.

    A variable to which the response's JSON is assigned is added to `names`.
    """
    if match := _OLD.fullmatch(statement):
        subject = subject_of(match["left"].strip(), names)
        same = equality if match["sign"] == "===" else _loose_equality
        return None if subject is None else valid(same(subject, match["right"]))
    match = _TEST.fullmatch(statement) or _BRIEF.fullmatch(statement)
    if match is None:
        return _of_expectation(statement, names)
    assertions: list[str] = []
    for part in _statements(match["body"]):
        if assigned := _ASSIGNED.fullmatch(part):
            names[assigned["name"]] = assigned["json"]
            continue
        of_part = _of_expectation(part, names)
        if of_part is None:
            return None
        assertions += of_part
    return assertions or None


def _of_expectation(statement: str, names: dict[str, str]) -> list[str] | None:
    assertions = None
    if match := _RESPONSE.fullmatch(statement):
        assertions = _of_response(_with_single_blanks(match["rest"]))
    elif match := _EXPECT.fullmatch(statement):
        chain = _with_single_blanks(match["chain"])
        assertions = _expected(match["what"].strip(), chain, names)
    return valid(assertions)


def valid(assertions: list[str] | None) -> list[str] | None:
    """Return the assertions if a run can parse all of them, or else None."""
    if all(isinstance(find(line), ParsedAssertion) for line in assertions or ()):
        return assertions
    return None


def _with_single_blanks(code: str) -> str:
    """Replace all whitespace outside strings with single spaces."""
    return _BLANKS.sub(lambda match: match[1] or " ", code).strip()


def _of_response(chain: str) -> list[str] | None:
    """Return the assertion for `pm.response.<chain>`, or None."""
    chain = chain.replace("to.be.an.", "to.be.").replace("to.be.a.", "to.be.")
    if chain in _STATUS_WORDS:
        return [f"status == {_STATUS_WORDS[chain]}"]
    if chain == "to.be.json":
        return ["body $ isDefined"]
    if match := re.fullmatch(r"to\.have\.status\(\s*(\d{3})\s*\)", chain):
        return [f"status == {match[1]}"]
    if match := _HAS_HEADER.fullmatch(chain):
        name = _header_name(match[1])
        same = "isDefined" if match[2] is None else f"== {_shown(match[2])}"
        return None if name is None else [f"header {name} {same}"]
    if match := re.fullmatch(rf"to\.have\.body\(\s*({_STRING})\s*\)", chain):
        return [f"body == {_shown(match[1])}"]
    return None


def _expected(what: str, chain: str, names: dict[str, str]) -> list[str] | None:
    """Return the assertions equivalent to `expect(what).chain`, or None."""
    subject = subject_of(what, names)
    if subject is None:
        return None
    chain = re.sub(r"^\.(?:to|is)(?:\.(?:be|have|deep|is|that|a|an)(?=\.))*", "", chain)
    negated = chain.startswith(".not.")
    if negated:
        chain = re.sub(r"^\.not(?:\.(?:be|have|deep|a|an)(?=\.))*", "", chain)
        if subject.startswith("body $") and not _SHALLOW.fullmatch(subject):
            return None  # JavaScript cannot read a.b if a is missing, but `!=` holds
    no = "not " if negated else ""
    if match := re.fullmatch(rf"\.(?:equals?|eql|eq)\(\s*({_LITERAL})\s*\)", chain):
        return inequality(subject, match[1]) if negated else equality(subject, match[1])
    if match := re.fullmatch(r"\.(true|false|null)(?:\(\))?", chain):
        return None if negated else equality(subject, match[1])
    if match := re.fullmatch(rf"\.(?:includes?|contains?)\(\s*({_STRING})\s*\)", chain):
        text = bare(_string(match[1]))
        if text is None or not _is_text(subject):
            return None
        present = [f"{subject} isDefined"] if negated and subject != "body" else []
        return [*present, f"{subject} {no}contains {text}"]
    if match := _COMPARED.fullmatch(chain):
        return None if negated else comparison(subject, f"{_SIGNS[match[1]]} {match[2]}")
    if match := _ONE_OF.fullmatch(chain):
        values = re.findall(_LITERAL, match[1])
        is_known = subject == "status" and all(re.fullmatch(r"\d+", value) for value in values)
        return [f"status {no}in {', '.join(values)}"] if is_known else None
    if match := re.fullmatch(rf"\.an?\(\s*({_STRING})\s*\)", chain):
        kind = _TYPES.get(match[1].strip("'\""))
        return [f"{subject} {no}{kind}"] if kind and subject.startswith("body $") else None
    return None


def equality(subject: str, literal: str) -> list[str] | None:
    """Return assertions that a subject equals a JavaScript literal in both value and type.

    Returns None if the subject can never equal it.
    """
    if literal[0] in "\"'" or (literal == "null" and not _is_text(subject)):
        return [f"{subject} == {_shown(literal)}"]
    kind = "isBoolean" if literal in ("true", "false") else "isNumber"
    return comparison(subject, f"== {literal}", kind)


def _loose_equality(subject: str, literal: str) -> list[str] | None:
    """Like `equality`, for JavaScript's `==`, which converts strings, numbers and booleans."""
    value = _string(literal) if literal[0] in "\"'" else literal
    if re.fullmatch(r"-?\d+(?:\.\d+)?", value):  # false == 0 and true == 1
        return None if float(value) in (0, 1) else [f"{subject} == {value}"]
    return equality(subject, literal) if literal[0] in "\"'" and value.strip() else None


def inequality(subject: str, literal: str) -> list[str] | None:
    """Return assertions that a subject does not equal a JavaScript literal, or None."""
    if literal[0] not in "\"'" and (_is_text(subject) or subject.startswith("body $")):
        return None  # "7" is not 7, but the assertion != converts it
    return [f"{subject} != {_shown(literal)}"]


def comparison(subject: str, condition: str, kind: str = "isNumber") -> list[str] | None:
    """Return assertions that a subject is of this kind and meets a condition such as `> 5`."""
    if _is_text(subject):
        return None
    of_type = [f"{subject} {kind}"] if subject.startswith(("body $", "js ")) else []
    return [f"{subject} {condition}", *of_type]


def _is_text(subject: str) -> bool:
    return subject == "body" or subject.startswith("header")


def subject_of(what: str, names: dict[str, str]) -> str | None:
    """Return the assertion subject for a JavaScript expression, or None if it has no equivalent.

    `names` contains the variables that hold the response's JSON.
    """
    for pattern, subject in _SUBJECTS:
        if re.fullmatch(pattern, what):
            return subject
    if match := _HEADER.fullmatch(what):
        name = _header_name(match["name"])
        return None if name is None else f"header {name}"
    if match := re.fullmatch(r"res\.headers\.([\w-]+)", what):
        return f"header {match[1]}"
    root = re.match(_JSON, what) or re.match(r"[A-Za-z_$][\w$]*", what)
    if root is None or not (root[0] in names or re.fullmatch(_JSON, root[0])):
        return None
    steps = what[root.end() :]
    if not re.fullmatch(_STEPS, steps):
        return None
    path = re.sub(rf"\[({_STRING})\]", lambda match: _bracket(match[1]), steps)
    return f"body ${path}" if not re.search(r"\s", path) and "{{" not in path else None


def _bracket(quoted: str) -> str:
    name = _string(quoted)
    return f".{name}" if re.fullmatch(r"[A-Za-z_]\w*", name) else f"[{json.dumps(name)}]"


def _header_name(quoted: str) -> str | None:
    name = _string(quoted)
    return name if re.fullmatch(r"[\w-]+", name) else None


def _shown(literal: str) -> str:
    """Return a JavaScript literal in the notation of assertions."""
    if literal[0] not in "\"'":
        return literal
    try:
        return texts.literal(json.dumps(_string(literal), ensure_ascii=False))
    except ConversionError:
        return "\n"  # invalid in an assertion, so it is rejected later


def bare(text: str) -> str | None:
    """Return a string as an unquoted operand of an operator such as `contains`.

    Returns None if the string cannot be written without quotes.
    """
    if not text or text != text.strip() or "\n" in text or "\r" in text:
        return None
    try:
        return texts.literal(text)
    except ConversionError:
        return None


def _string(quoted: str) -> str:
    """Return the value of a JavaScript string literal (ECMAScript 2025, 12.9.4)."""

    def replaced(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code:
            return chr(min(int(code, 16), 0x10FFFF))
        return _LETTERS.get(match[4], match[4])

    text = _ESCAPE.sub(replaced, quoted[1:-1])
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
