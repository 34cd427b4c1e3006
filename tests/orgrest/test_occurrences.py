"""All occurrences of many strings in a text are found, in a single pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from counting import bytecodes
from hypothesis import given
from hypothesis import strategies as st

from orgrest import occurrences
from orgrest.http.parsing import request_file
from orgrest.http.values import Context, Inputs, expand
from orgrest.model import Request, Secret, Source
from orgrest.occurrences import Index, replaced
from orgrest.rendering.masking import mask, mask_bytes, masked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PIECES = st.text(alphabet="abA-", max_size=9)


@given(
    st.sets(st.text(alphabet="abA-", min_size=1, max_size=8), max_size=30),
    st.lists(PIECES, max_size=8).map("".join),
)
def test_every_occurrence_is_found_however_many_texts_there_are(
    texts: set[str], around: str
) -> None:
    text = "".join(text + around for text in sorted(texts)) + around
    expected = {
        (at, at + len(one), one)
        for one in texts
        for at in range(len(text))
        if text.startswith(one, at)
    }
    for few in (1000, 0):
        index: Index[str, str] = Index()
        for one in texts:
            index.put(one, one)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(occurrences, "_FEW", few)
            found = set(index.occurrences(text))
        assert found <= expected
        # of occurrences that overlap each other, one is enough
        covered = replaced(text, [(start, end) for start, end, _ in found], "*")
        assert not any(text in covered for text in texts)
        assert {one for *_, one in found} == {one for *_, one in expected}


def test_overlapping_spans_are_replaced_as_one() -> None:
    assert replaced("abcdefgh", [(3, 5), (0, 2), (1, 4), (6, 7)], "*") == "*f*h"
    assert replaced(b"ab", [], b"*") == b"ab"


def named(count: int) -> list[str]:
    return [f"secret-{count}-{number:05}" for number in range(count)]


def many_secrets(count: int, _: Path) -> Callable[[], object]:
    secrets = frozenset(named(count))
    return lambda: mask(" ".join(secrets), secrets)


def many_secrets_in_bytes(count: int, _: Path) -> Callable[[], object]:
    secrets = frozenset(named(count))
    return lambda: mask_bytes(b" ".join(map(str.encode, secrets)), secrets)


def many_parts(count: int, _: Path) -> Callable[[], object]:
    secrets = named(count)
    request = Request(
        "GET",
        "http://h/",
        tuple((f"X{number}", secret) for number, secret in enumerate(secrets)),
        " ".join(secrets).encode(),
        secrets=frozenset(secrets),
        held=frozenset(
            pair
            for number, secret in enumerate(secrets)
            for pair in ((f"x{number}", Secret(secret)), ("body", Secret(secret)))
        ),
    )
    return lambda: masked(request)


def a_secret_more_with_each_text(count: int, _: Path) -> Callable[[], object]:
    secrets = named(count)

    def call() -> None:
        for number in range(1, count, 4):
            assert mask(secrets[number], frozenset(secrets[: number + 1])) == "***"

    return call


def completed(text: str, **inputs: object) -> Callable[[], object]:
    parsed = request_file.parse(Source(text, file="a.http")).requests[0]
    return lambda: expand(parsed, Context(Inputs(**inputs)))  # type: ignore[arg-type]


def many_uses(count: int, _: Path) -> Callable[[], object]:
    return completed("@v = x\nGET http://h/" + "{{v}}" * count + "\n")


def many_variables(count: int, _: Path) -> Callable[[], object]:
    lines = "".join(f"@v{number} = x\n" for number in range(count))
    uses = "".join(f"{{{{v{number}}}}}" for number in range(count))
    return completed(f"{lines}GET http://h/{uses}\n")


def many_environment_variables(count: int, _: Path) -> Callable[[], object]:
    uses = "".join(
        f"X{number}: {{{{$processEnv {one}}}}}\n" for number, one in enumerate(named(count))
    )
    return completed(
        f"GET http://h/\n{uses}", environ={one: f"{one}-value" for one in named(count)}
    )


def many_variables_of_a_file(count: int, folder: Path) -> Callable[[], object]:
    (folder / ".env").write_text(
        "".join(f"V{number}={one}\n" for number, one in enumerate(named(count)))
    )
    uses = " ".join(f"{{{{$dotenv V{number}}}}}" for number in range(count))
    return completed(f"POST http://h/\n\n{uses}\n", directory=folder)


def many_computed_secrets(count: int, _: Path) -> Callable[[], object]:
    lines = "".join(f':v{number} := base64(env("V{number}"))\n' for number in range(count))
    uses = "".join(f"/:v{number}" for number in range(count))
    environ = {f"V{number}": one for number, one in enumerate(named(count))}
    return completed(f"{lines}GET http://h{uses}\n", environ=environ)


@pytest.mark.parametrize(
    "case",
    [
        many_secrets,
        many_secrets_in_bytes,
        many_parts,
        a_secret_more_with_each_text,
        many_uses,
        many_variables,
        many_environment_variables,
        many_variables_of_a_file,
        many_computed_secrets,
    ],
)
def test_twice_as_many_variables_and_secrets_take_twice_as_much(
    case: Callable[[int, Path], Callable[[], object]], tmp_path: Path
) -> None:
    case(30, tmp_path)()  # what is imported or cached once
    once, twice = (bytecodes(case(count, tmp_path)) for count in (100, 200))
    assert twice < 2.5 * once
