"""Hostile request files: a clear error for each, in bounded time and memory."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest
from evaluated import Evaluated

from orgrest.http.values import Inputs

if TYPE_CHECKING:
    from pathlib import Path


def evaluated(text: str, folder: Path, *environments: str) -> Evaluated:
    inputs = Inputs(directory=folder, environments=environments)
    return Evaluated(text, inputs, dry_run=True)


def reasons(text: str, folder: Path, *environments: str) -> list[str]:
    return evaluated(text, folder, *environments).reasons


def test_files_that_import_each_other_in_circles_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.http").write_text("# @import b.http\nGET http://example.org/a\n")
    (tmp_path / "b.http").write_text("# @import a.http\n# @import b.http\n@b = 1\n")
    text = "# @import a.http\n# @import b.http\nGET http://example.org/{{b}}\n"
    (outcome,) = evaluated(text, tmp_path).outcomes
    assert outcome.exchanges[0].request.url == "http://example.org/1"


def test_files_that_run_each_other_in_circles_come_to_an_end(tmp_path: Path) -> None:
    (tmp_path / "b.http").write_text("run c.http\nGET http://example.org/b\n")
    (tmp_path / "c.http").write_text("run b.http\nGET http://example.org/c\n")
    found = evaluated("run b.http\n", tmp_path).outcomes
    urls = [one.exchanges[0].request.url for one in found if one.reason is None]
    assert urls == ["http://example.org/c", "http://example.org/b"]
    (reason,) = [one.reason for one in found if one.reason is not None]
    assert "files run each other in a cycle:" in str(reason)


def test_a_file_that_includes_itself_is_sent_once_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "body").write_text("<@ body\n{{a}}")
    text = "@a = <@ body\nPOST http://example.org/\n\n<@ ./body\n"
    (outcome,) = evaluated(text, tmp_path).outcomes
    assert outcome.exchanges[0].request.body == b"<@ body\n<@ body"


def test_very_many_variables_in_a_chain_are_an_error(tmp_path: Path) -> None:
    count = 50_000
    chain = "".join(f"@v{index} = {{{{v{index + 1}}}}}\n" for index in range(count))
    found = reasons(f"{chain}GET http://example.org/{{{{v0}}}}\n", tmp_path)
    assert len(found) == 1
    assert "variables are nested more than 100 levels deep" in found[0]


@pytest.mark.parametrize("mark", "@:")
def test_hundreds_of_thousands_of_variables_are_an_error(tmp_path: Path, mark: str) -> None:
    count = 200_000 if mark == "@" else 100_001
    chain = "".join(f"{mark}v{n} = {{{{v{(n + 1) % count}}}}}\n" for n in range(count))
    text = f"{chain}GET http://example.org/{{{{v0}}}}\n"
    found = reasons(text, tmp_path)
    assert found == [
        "a.http:100001:1: more than 100,000 variables are defined here: nothing was sent"
    ]
    (tmp_path / "b.http").write_text(text)
    (found, *_) = reasons("# @import b.http\nGET http://example.org/{{v0}}\n", tmp_path)
    assert "a.http:1:11: b.http:100001:1: more than 100,000 variables are defined here:" in found


def test_very_many_variables_that_are_all_used_cost_no_more_than_they_are(tmp_path: Path) -> None:
    count = 20_000
    names = "".join(f"@v{index} = {{{{v0}}}}\n" for index in range(1, count))
    uses = "".join(f"{{{{v{index}}}}}" for index in range(count))
    text = f"@v0 = x\n{names}POST http://example.org/\n\n{uses}\n"
    (outcome,) = evaluated(text, tmp_path).outcomes
    assert outcome.exchanges[0].request.body == b"x" * count


def test_variables_that_double_each_other_are_an_error_and_take_little_memory(
    tmp_path: Path,
) -> None:
    doubling = "".join(f"@v{n} = {{{{v{n - 1}}}}}{{{{v{n - 1}}}}}\n" for n in range(1, 60))
    tracemalloc.start()
    try:
        found = reasons(f"@v0 = 12345678\n{doubling}GET http://a/{{{{v59}}}}\n", tmp_path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "exceed 64 MiB in total" in found[0]
    assert most < 400 * 2**20


def test_environments_whose_variables_refer_to_each_other_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "http-client.env.json").write_text('{"e": {"a": "{{b}}", "b": "{{a}}"}}')
    assert "refers to itself: a -> b -> a" in reasons("GET http://x/{{a}}\n", tmp_path, "e")[0]


@pytest.mark.parametrize("name", ["http-client.env.json", ".env", "e.env", ".httpyac.json"])
def test_a_huge_environment_file_is_an_error_and_is_not_read(tmp_path: Path, name: str) -> None:
    with (tmp_path / name).open("wb") as stream:
        stream.truncate(100 * 2**20)
    tracemalloc.start()
    try:
        found = reasons("GET http://example.org/{{a}}\n", tmp_path, "e")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "the environment file is larger than 1,048,576 bytes" in found[0]
    assert most < 20 * 2**20


def test_a_very_deep_environment_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "http-client.env.json").write_text("[" * 200_000)
    assert "nested too deep" in reasons("GET http://example.org/{{a}}\n", tmp_path, "e")[0]


@pytest.mark.parametrize(
    "mark",
    ["{{", "{{a", "> {%", "{{\n", "@a = {{", "?? body ", "/*", "< ", "# @", "###", "{{$datetime '"],
)
def test_very_many_openings_are_read_at_once(tmp_path: Path, mark: str) -> None:
    evaluated(f"GET http://example.org/\n\n{mark * 50_000}\n", tmp_path)
    evaluated(f"GET http://example.org/\n\n{f'{mark}{chr(10)}' * 20_000}", tmp_path)


def test_a_huge_assertion_is_bounded(tmp_path: Path) -> None:
    text = f"GET http://example.org/\n\n?? {'status ' * 50_000}\n"
    [reason] = reasons(text, tmp_path)
    assert "expected an operator after ?? status" in reason
    assert len(reason) < 1_000
