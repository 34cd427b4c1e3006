"""Dynamic values such as `{{$uuid}}` and `{{$timestamp -1 d}}`.

They are those of VS Code REST Client, JetBrains' HTTP Client and httpyac. Each row of the table has
the syntax, description and function of a dynamic value, and `value` finds the row for a
placeholder. As in those tools, each use is computed separately. A seed makes all dynamic values
reproducible: it determines the random values, and the time is the beginning of the year 2000 (UTC).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

from orgrest import classes
from orgrest.model import OrgrestError
from orgrest.regular import compiled

if TYPE_CHECKING:
    from datetime import datetime
    from random import Random

LONGEST: Final = 1_000_000
"""The maximum length of a random string."""

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
_UNITS = {
    "y": "years", "Q": "quarters", "M": "months", "w": "weeks", "d": "days",
    "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds",
}  # fmt: skip
_OFFSET = r"(?:\s+(?P<offset>[+-]?\d{1,9})\s+(?P<unit>ms|[yQMwdhms]))?"
_SPAN = r"(?:\(\s*(?:(?P<least>-?\d{1,18})\s*,\s*(?P<most>-?\d{1,18})\s*)?\))?"
_LENGTH = r"(?:\(\s*(?P<length>\d{1,9})?\s*\))?"


@classes.define
class DynamicContext:
    """The inputs of dynamic values, in addition to their arguments.

    - `environ` looks up an environment variable, `dotenv` a variable in the nearest `.env` file,
      and `variable` a variable in the selected environments. Each returns None if the variable is
      not defined.
    - `project` is the project's folder.
    - `user_secret` returns one of the user's secrets, or an empty string in a dry run.
    - `seed` makes the dynamic values reproducible.
    """

    environ: Callable[[str], str | None]
    dotenv: Callable[[str], str | None]
    variable: Callable[[str], str | None]
    project: str
    user_secret: Callable[[str], str]
    seed: int | None = None
    _random: Random | None = None

    @property
    def random(self) -> Random:
        """The system's random number generator, or a generator with the given seed."""
        from random import Random, SystemRandom

        if self._random is None:
            # A seeded generator is predictable, so it must not generate secrets.
            self._random = SystemRandom() if self.seed is None else Random(self.seed)  # noqa: S311
        return self._random

    def now(self) -> datetime:
        """Return the current time in UTC, or the beginning of the year 2000 if there is a seed."""
        from datetime import UTC, datetime

        return datetime.now(UTC) if self.seed is None else datetime(2000, 1, 1, tzinfo=UTC)


@classes.frozen
class Dynamic:
    """A dynamic value, with its usage and a description.

    `arguments` is a pattern for what follows the name in a placeholder. `compute` returns the value
    for a match of `pattern`. If `secret` is set, the value is never shown.
    """

    usage: str
    description: str
    compute: Callable[[re.Match[str], DynamicContext], str]
    arguments: str = ""
    secret: bool = False

    @property
    def name(self) -> str:
        """The first word of the usage, including the `$`."""
        return re.split(r"[ (]", self.usage, maxsplit=1)[0]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Matches the text in a placeholder. The name of `$env.NAME` contains its argument."""
        return re.compile(re.escape(self.name.removesuffix("NAME")) + self.arguments)


def is_known(text: str) -> bool:
    """Return whether a string begins with the name of a dynamic value or of a prompt."""
    name = re.split(r"[\s(]", text, maxsplit=1)[0]
    rows = (name == row.name or row.pattern.fullmatch(text) for row in DYNAMICS)
    return name in _PROMPTS or any(rows)


def instead_of(text: str) -> str | None:
    """Return an expression in restclient's language that replaces `{{text}}`, or None."""
    row = find(text)
    if isinstance(row, str):
        return None
    dynamic, match = row
    argument = match.groupdict().get("name") or ""
    if match.groupdict().get("offset") or argument.startswith("%"):
        return None
    return _EXPRESSIONS.get(dynamic.name, "").replace("NAME", argument) or None


def value(text: str, around: DynamicContext) -> tuple[str, bool]:
    """Return the value of `{{text}}`, and whether it is secret.

    `text` begins with `$`. For `$secret`, the value may be empty (see `user_secret`). Raises
    OrgrestError if there is no such dynamic value, if its arguments are invalid, or if it cannot be
    computed.
    """
    row = find(text)
    if isinstance(row, str):
        raise OrgrestError(row, code="bad-dynamic-value")
    dynamic, match = row
    return dynamic.compute(match, around), dynamic.secret


def find(text: str) -> tuple[Dynamic, re.Match[str]] | str:
    """Return the dynamic value that a string refers to, and the match of its pattern.

    If there is no such dynamic value, or its arguments are invalid, returns an error message.
    """
    text = text.strip()
    for dynamic in DYNAMICS:
        if match := dynamic.pattern.fullmatch(text):
            return dynamic, match
    name = re.split(r"[\s(]", text, maxsplit=1)[0]
    for dynamic in DYNAMICS:
        if dynamic.name == name:
            return f"invalid arguments in {{{{{text}}}}}: expected {{{{{dynamic.usage}}}}}"
    if name == "$index":
        return "{{$index}} has a value only in a request with @loop"
    if name in _FOREIGN:
        return f"{name} is not supported: {_FOREIGN[name]}"
    from difflib import get_close_matches

    near = get_close_matches(name, [dynamic.name for dynamic in DYNAMICS], 1)
    instead = f"; did you mean {near[0]}?" if near else ""
    return f"unknown dynamic value {name}{instead}"


_PROMPTS: Final = ("$input", "$prompt", "$password")
_EXPRESSIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("$uuid", "$guid", "$random.uuid"), "uuid()"),
    "$timestamp": 'now("%s")',
    "$isoTimestamp": "now()",
    "$datetime": "now()",
    **dict.fromkeys(("$processEnv", "$env.NAME", "$dotenv"), 'env("NAME")'),
    "$secret": 'secret("NAME")',
}
"""Maps dynamic values to expressions in restclient's language."""
_FOREIGN: Final[Mapping[str, str]] = {
    "$aadToken": "orgrest cannot get Azure Active Directory tokens; define a variable instead",
    "$aadV2Token": ("orgrest cannot get Azure Active Directory tokens; define a variable instead"),
    "$oidcAccessToken": "use `Authorization: oauth2` with httpyac's variables",
    "$auth.token": 'use {{$auth.token("ID")}}, with an ID from Security.Auth',
    "$historyFolder": "use `orgrest history` to see earlier responses",
    "$pickFile": "write the name of the file",
}


def _uuid(_match: re.Match[str], around: DynamicContext) -> str:
    from uuid import UUID

    return str(UUID(int=around.random.getrandbits(128), version=4))


def _shifted(match: re.Match[str], around: DynamicContext, *, is_local: bool = False) -> datetime:
    """Return the current time in UTC or local time, shifted by an offset such as `-3 h`.

    In local time, days and longer units do not change the time of day, as in Day.js.
    """
    now = around.now()
    if match["offset"] is None:
        return now.astimezone() if is_local else now
    number, unit = int(match["offset"]), _UNITS[match["unit"]]
    from datetime import timedelta

    try:
        if is_local and match["unit"] in "yQMwd":
            now = now.astimezone().replace(tzinfo=None)
        if unit in ("years", "quarters", "months"):
            now = _months_later(now, number * {"years": 12, "quarters": 3, "months": 1}[unit])
        else:
            now += timedelta(**{unit: number})
        return now.astimezone() if is_local else now
    except (OverflowError, ValueError) as error:
        reason = f"an offset of {number} {unit} leads to a date outside of the supported range"
        raise OrgrestError(reason) from error


def _months_later(time: datetime, months: int) -> datetime:
    from calendar import monthrange

    index = time.year * 12 + time.month - 1 + months
    year, month = divmod(index, 12)
    return time.replace(
        year=year, month=month + 1, day=min(time.day, monthrange(year, month + 1)[1])
    )


def _timestamp(match: re.Match[str], around: DynamicContext) -> str:
    return str(int(_shifted(match, around).timestamp()))


def _iso(time: datetime) -> str:
    from datetime import UTC

    # A local time, which may also be UTC, is written as by Day.js.
    if time.tzinfo is not UTC:
        return time.isoformat(timespec="seconds")
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _datetime(match: re.Match[str], around: DynamicContext) -> str:
    return _formatted(_shifted(match, around), match["format"])


def _local(match: re.Match[str], around: DynamicContext) -> str:
    return _formatted(_shifted(match, around, is_local=True), match["format"])


def _formatted(time: datetime, form: str) -> str:
    from datetime import UTC
    from email.utils import format_datetime

    if form == "iso8601":
        return _iso(time)
    if form == "rfc1123":
        return format_datetime(time, usegmt=time.tzinfo is UTC)
    return _TOKEN.sub(lambda token: _DAYJS.get(token[0], _literal)(time, token), form[1:-1])


def _literal(_time: datetime, token: re.Match[str]) -> str:
    return token[1] if token[1] is not None else token[0]


def _zone(time: datetime, separator: str) -> str:
    text = time.strftime("%z")
    return f"{text[:3]}{separator}{text[3:5]}"


def _ordinal(number: int) -> str:
    ending = (
        "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{ending}"


_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# The tokens of Day.js (https://day.js.org/docs/en/display/format), which VS Code REST Client and
# httpyac accept.
_TOKEN = compiled(
    r"\[([^\]]*)\]|Y{4}|YY|M{1,4}|Do|D{1,2}|d{1,4}|H{1,2}|h{1,2}|A|a|m{1,2}|s{1,2}|S{3}|ZZ?|X|x|Q"
)
_DAYJS: Final[Mapping[str, Callable[[datetime, re.Match[str]], str]]] = {
    "YYYY": lambda time, _: f"{time.year:04}",
    "YY": lambda time, _: f"{time.year % 100:02}",
    "M": lambda time, _: str(time.month),
    "MM": lambda time, _: f"{time.month:02}",
    "MMM": lambda time, _: _MONTHS[time.month - 1][:3],
    "MMMM": lambda time, _: _MONTHS[time.month - 1],
    "D": lambda time, _: str(time.day),
    "DD": lambda time, _: f"{time.day:02}",
    "Do": lambda time, _: _ordinal(time.day),
    "d": lambda time, _: str(time.isoweekday() % 7),
    "dd": lambda time, _: _DAYS[time.weekday()][:2],
    "ddd": lambda time, _: _DAYS[time.weekday()][:3],
    "dddd": lambda time, _: _DAYS[time.weekday()],
    "H": lambda time, _: str(time.hour),
    "HH": lambda time, _: f"{time.hour:02}",
    "h": lambda time, _: str(time.hour % 12 or 12),
    "hh": lambda time, _: f"{time.hour % 12 or 12:02}",
    "A": lambda time, _: "AM" if time.hour < 12 else "PM",
    "a": lambda time, _: "am" if time.hour < 12 else "pm",
    "m": lambda time, _: str(time.minute),
    "mm": lambda time, _: f"{time.minute:02}",
    "s": lambda time, _: str(time.second),
    "ss": lambda time, _: f"{time.second:02}",
    "SSS": lambda time, _: f"{time.microsecond // 1000:03}",
    "Z": lambda time, _: _zone(time, ":"),
    "ZZ": lambda time, _: _zone(time, ""),
    "X": lambda time, _: str(int(time.timestamp())),
    "x": lambda time, _: str(int(time.timestamp() * 1000)),
    "Q": lambda time, _: str((time.month + 2) // 3),
}


def _integer(match: re.Match[str], around: DynamicContext) -> str:
    least, most = sorted((int(match["least"] or 0), int(match["most"] or 1000)))
    return str(around.random.randrange(least, most) if most > least else least)


def _float(match: re.Match[str], around: DynamicContext) -> str:
    least, most = sorted((int(match["least"] or 0), int(match["most"] or 1000)))
    return repr(around.random.uniform(least, most))


def _text(alphabet: str) -> Callable[[re.Match[str], DynamicContext], str]:
    def compute(match: re.Match[str], around: DynamicContext) -> str:
        length = int(match["length"] or 10)
        if length > LONGEST:
            raise OrgrestError(f"random strings can have at most {LONGEST:,} characters")
        return "".join(around.random.choices(alphabet, k=length))

    return compute


def _email(_match: re.Match[str], around: DynamicContext) -> str:
    name = "".join(around.random.choices(_LETTERS[26:], k=10))
    return f"{name}@example.com"


def _mongo_id(_: re.Match[str], around: DynamicContext) -> str:
    digits = "".join(around.random.choices("0123456789abcdef", k=16))
    return f"{int(around.now().timestamp()):08x}{digits}"


def _named(match: re.Match[str], around: DynamicContext) -> str:
    """Return the name of the variable to look up. For `%name`, it is the value of `name`."""
    name = match["name"]
    if not name.startswith("%"):
        return name
    inner = around.variable(name[1:])
    if inner is None:
        raise OrgrestError(f"the variable {name[1:]} is not defined")
    return inner


def _environ(match: re.Match[str], around: DynamicContext) -> str:
    name = _named(match, around)
    content = around.environ(name)
    if content is None:
        raise OrgrestError(f"the environment variable {name} is not set")
    return content


def _dotenv(match: re.Match[str], around: DynamicContext) -> str:
    name = _named(match, around)
    content = around.dotenv(name)
    if content is None:
        raise OrgrestError(
            f"{name} is not set in the nearest .env file (in the document's folder or, if it has "
            "none, in a parent folder in the project)"
        )
    return content


_FORMAT = r"""(?P<format>rfc1123|iso8601|'[^']*'|"[^"]*")"""
DYNAMICS: Final = (
    Dynamic("$uuid", "A random UUID (RFC 9562, version 4).", _uuid),
    Dynamic("$guid", "The same as $uuid.", _uuid),
    Dynamic("$random.uuid", "The same as $uuid.", _uuid),
    Dynamic(
        "$timestamp [-1 d]",
        "Seconds since 1970, with an optional offset in y, M, w, d, h, m, s or ms.",
        _timestamp,
        _OFFSET,
    ),
    Dynamic(
        "$date",
        "The current local date: 2026-01-31 (Kulala's syntax).",
        lambda _, around: f"{around.now().astimezone():%Y-%m-%d}",
    ),
    Dynamic(
        "$isoTimestamp",
        "The time in UTC: 2026-01-31T12:00:00.000Z.",
        lambda _, around: _iso(around.now()),
    ),
    Dynamic(
        "$datetime iso8601|rfc1123|'YYYY-MM-DD' [1 y]",
        "The time in UTC, in a Day.js format, with an optional offset.",
        _datetime,
        rf"\s+{_FORMAT}{_OFFSET}",
    ),
    Dynamic(
        "$localDatetime iso8601|rfc1123|'YYYY-MM-DD' [1 y]",
        "The local time, in a Day.js format, with an optional offset.",
        _local,
        rf"\s+{_FORMAT}{_OFFSET}",
    ),
    Dynamic(
        "$randomInt [MIN MAX]",
        "A random integer from MIN (default 0) up to, but not including, MAX (default 1000).",
        _integer,
        r"(?:\s+(?P<least>-?\d{1,18})\s+(?P<most>-?\d{1,18}))?",
    ),
    Dynamic(
        "$random.integer(MIN, MAX)",
        "A random integer from MIN (default 0) up to, but not including, MAX (default 1000).",
        _integer,
        _SPAN,
    ),
    Dynamic(
        "$random.float(MIN, MAX)",
        "A random number from MIN (default 0) to MAX (default 1000).",
        _float,
        _SPAN,
    ),
    Dynamic(
        "$random.alphabetic(LENGTH)",
        "LENGTH random letters (10 by default).",
        _text(_LETTERS),
        _LENGTH,
    ),
    Dynamic(
        "$random.alphanumeric(LENGTH)",
        "LENGTH random letters, digits and underscores (10 by default).",
        _text(_LETTERS + _DIGITS + "_"),
        _LENGTH,
    ),
    Dynamic(
        "$random.numeric(LENGTH)", "LENGTH random digits (10 by default).", _text(_DIGITS), _LENGTH
    ),
    Dynamic(
        "$random.hexadecimal(LENGTH)",
        "LENGTH random hexadecimal digits (10 by default).",
        _text(_DIGITS + "ABCDEF"),
        _LENGTH,
    ),
    Dynamic("$random.email", "A random email address at example.com.", _email, r"(?:\(\))?"),
    Dynamic(
        "$mongoId", "A MongoDB ObjectId: a timestamp and random hexadecimal digits.", _mongo_id
    ),
    Dynamic(
        "$processEnv NAME",
        "The environment variable NAME. With %NAME, the environment variable whose name is the "
        "value of NAME in the selected environments.",
        _environ,
        r"\s+(?P<name>%?\S+)",
        secret=True,
    ),
    Dynamic("$env.NAME", "The environment variable NAME.", _environ, r"(?P<name>\w+)", secret=True),
    Dynamic(
        "$dotenv NAME",
        "The variable NAME in the nearest .env file: in the document's folder or, if it has none, "
        "in a parent folder in the project. With --env dev, .env.dev in this folder takes "
        "precedence. With %NAME, the variable whose name is the value of NAME in the selected "
        "environments.",
        _dotenv,
        r"\s+(?P<name>%?\S+)",
        secret=True,
    ),
    Dynamic(
        "$secret NAME",
        "A secret that is stored outside the document and listed in secrets.toml.",
        lambda match, around: around.user_secret(match["name"]),
        r"\s+(?P<name>\S+)",
        secret=True,
    ),
    Dynamic("$projectRoot", "The project's folder.", lambda _, around: around.project),
)
"""All dynamic values. `$input` and `$password` are prompts, so they are not listed here."""
