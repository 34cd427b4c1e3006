"""Dynamic values such as `{{$uuid}}`, as in VS Code REST Client, JetBrains and httpyac."""

from __future__ import annotations

import contextlib
import re
import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orgrest.http.values import dynamic
from orgrest.http.values.dynamic import DYNAMICS, DynamicContext
from orgrest.model import OrgrestError

ENVIRON = {"HOME": "/home/me", "USER": "me", "secretKey": "never"}


def around(seed: int | None = None, **variables: str) -> DynamicContext:
    return DynamicContext(
        environ=ENVIRON.get,
        dotenv={"TOKEN": "t"}.get,
        variable=variables.get,
        project="/project",
        user_secret=str,
        seed=seed,
    )


def value(text: str, context: DynamicContext) -> str:
    return dynamic.value(text, context)[0]


@pytest.mark.parametrize("text", ["$uuid", "$guid", "$random.uuid"])
def test_a_uuid_is_one_of_version_4_and_new_each_time(text: str) -> None:
    first, second = (uuid.UUID(value(text, around())) for _ in range(2))
    assert first.version == second.version == 4
    assert first != second


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$timestamp", "946684800"),
        ("$timestamp -1 d", "946598400"),
        ("$timestamp 2 h", "946692000"),
        ("$timestamp 1500 ms", "946684801"),
        ("$isoTimestamp", "2000-01-01T00:00:00.000Z"),
        ("$datetime iso8601", "2000-01-01T00:00:00.000Z"),
        ("$datetime rfc1123", "Sat, 01 Jan 2000 00:00:00 GMT"),
        ("$datetime iso8601 1 y", "2001-01-01T00:00:00.000Z"),
        ("$datetime iso8601 -1 M", "1999-12-01T00:00:00.000Z"),
        ("$datetime 'DD-MM-YYYY' 1 Q", "01-04-2000"),
        ('$datetime "dddd Do MMMM YY, h:mm A [at] Q"', "Saturday 1st January 00, 12:00 AM at 1"),
        ("$datetime 'X x SSS Z ZZ d dd ddd MMM M D H HH hh m s ss a'",
         "946684800 946684800000 000 +00:00 +0000 6 Sa Sat Jan 1 1 0 00 12 0 0 00 am"),
        ("$projectRoot", "/project"),
        ("$processEnv USER", "me"),
        ("$env.USER", "me"),
        ("$dotenv TOKEN", "t"),
    ],
)  # fmt: skip
def test_what_a_value_is_at_the_seeds_time(text: str, expected: str) -> None:
    assert value(text, around(seed=1)) == expected


def test_the_clock_is_the_real_one_without_a_seed() -> None:
    before = datetime.now(UTC).timestamp()
    assert before - 1 <= int(value("$timestamp", around())) <= before + 60


def test_a_day_that_a_month_does_not_have_becomes_its_last() -> None:
    leap = datetime(2024, 2, 29, tzinfo=UTC)
    assert dynamic._months_later(leap, 12).day == 28
    assert dynamic._months_later(datetime(2024, 1, 31, tzinfo=UTC), 1) == leap


@pytest.mark.parametrize(
    ("zone", "text", "expected"),
    [
        ("XYZ-2", "iso8601", "2000-01-01T02:00:00+02:00"),
        ("XYZ-2", "rfc1123", "Sat, 01 Jan 2000 02:00:00 +0200"),
        ("XYZ-2", "'HH Z'", "02 +02:00"),
        ("UTC", "iso8601", "2000-01-01T00:00:00+00:00"),
        ("UTC", "rfc1123", "Sat, 01 Jan 2000 00:00:00 +0000"),
        # These zones change from +02:00 to +03:00 on 1 July.
        ("XYZ-2XYD,182,300", "iso8601 7 M", "2000-08-01T02:00:00+03:00"),
        ("XYZ-2XYD,182,300", "iso8601 213 d", "2000-08-01T02:00:00+03:00"),
        ("XYZ-2XYD,182,300", "iso8601 5112 h", "2000-08-01T03:00:00+03:00"),
    ],
)
def test_local_times_have_the_zones_offset_and_keep_the_time_of_day(
    zone: str, text: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert value(f"$localDatetime {text}", around(1)) == expected
        with pytest.raises(OrgrestError, match="outside of the supported range"):
            value("$localDatetime iso8601 -1999 y", around(1))
    finally:
        monkeypatch.undo()
        time.tzset()


@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6))
def test_random_integers_stay_between_their_bounds_in_any_order(one: int, two: int) -> None:
    least, most = sorted((one, two))
    for text in (f"$randomInt {one} {two}", f"$random.integer({one}, {two})"):
        given_ = int(value(text, around()))
        assert least <= given_ < most or given_ == least == most
    assert least <= float(value(f"$random.float({one}, {two})", around())) <= most


def test_random_values_without_bounds_are_below_a_thousand() -> None:
    assert 0 <= int(value("$randomInt", around())) < 1000
    assert 0 <= int(value("$random.integer()", around())) < 1000


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("$random.alphabetic(7)", "[A-Za-z]{7}"),
        ("$random.alphanumeric(9)", r"\w{9}"),
        ("$random.hexadecimal(4)", "[0-9A-F]{4}"),
        ("$random.alphabetic", "[A-Za-z]{10}"),
        ("$random.email", r"[a-z]{10}@example\.com"),
    ],
)
def test_random_texts_are_as_long_as_asked(text: str, pattern: str) -> None:
    assert re.fullmatch(pattern, value(text, around()))


def test_a_seed_repeats_all_values_and_another_seed_gives_others() -> None:
    texts = ["$uuid", "$randomInt 0 1000000", "$random.alphanumeric(20)", "$timestamp"]

    def run(seed: int) -> list[str]:
        context = around(seed)
        return [value(text, context) for text in texts]

    assert run(7) == run(7)
    assert run(7) != run(8)


@pytest.mark.parametrize("text", ["$processEnv USER", "$env.USER", "$dotenv TOKEN"])
def test_what_comes_from_outside_is_a_secret(text: str) -> None:
    assert dynamic.value(text, around())[1]
    assert not dynamic.value("$uuid", around())[1]


def test_a_percent_sign_takes_the_name_from_a_variable() -> None:
    assert value("$processEnv %who", around(who="USER")) == "me"
    assert value("$dotenv %what", around(what="TOKEN")) == "t"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("$uid", "unknown dynamic value $uid; did you mean $uuid?"),
        ("$nothing.like.it.at.all", "unknown dynamic value $nothing.like.it.at.all"),
        ("$datetime tomorrow", "invalid arguments in {{$datetime tomorrow}}: expected {{$datetime"),
        ("$aadToken new", "$aadToken is not supported: orgrest cannot get Azure"),
        ("$processEnv NOPE", "the environment variable NOPE is not set"),
        ("$processEnv %nope", "the variable nope is not defined"),
        ("$dotenv NOPE", "NOPE is not set in the nearest .env file"),
        ("$timestamp 999999999 y", "an offset of 999999999 years leads to a date outside"),
        ("$timestamp 999999999 d", "an offset of 999999999 days leads to a date outside"),
        ("$random.alphabetic(999999999)", "random strings can have at most 1,000,000 characters"),
    ],
)
def test_what_cannot_be_computed_is_an_error_that_says_why(text: str, reason: str) -> None:
    with pytest.raises(OrgrestError) as caught:
        value(text, around())
    assert caught.value.reason.startswith(reason)


def test_each_row_is_written_as_its_usage_says() -> None:
    for row in DYNAMICS:
        example = re.sub(r" ?\[.*?\]", "", row.usage.partition("|")[0])
        example = example.replace("MIN, MAX", "1, 2").replace("LENGTH", "3")
        found = dynamic.find(example)
        assert not isinstance(found, str), found
        assert found[0] is row


@given(st.text(max_size=40))
def test_any_text_is_a_value_or_an_error(text: str) -> None:
    with contextlib.suppress(OrgrestError):
        assert isinstance(value(f"${text}", around()), str)
