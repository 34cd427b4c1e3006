"""The cache of what is known of templates: it changes no program, and cannot be wrong for long."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scriptschema.generation.programs.templates.measures import digest

_PROGRAMS = """
from scriptschema import wire
from scriptschema.generation.programs import program
import hashlib
digest = hashlib.sha256()
for seed in range(10):
    digest.update(wire.encode(program(seed=seed, size=150)))
print(digest.hexdigest())
"""


def programs(cache: Path | str) -> str:
    """Make programs in a process of their own; return their digest."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAMS],
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    return done.stdout


def only_file(cache: Path) -> Path:
    [found] = (cache / "scriptschema" / "templates").iterdir()
    return found


def test_a_seed_gives_the_same_programs_with_an_empty_a_filled_and_a_damaged_cache(
    tmp_path: Path,
) -> None:
    first = programs(tmp_path)
    kept = only_file(tmp_path).read_text()
    assert len(json.loads(kept)) > 400
    assert programs(tmp_path) == first
    assert only_file(tmp_path).read_text() == kept
    for damaged in ('{"a": [1]}', kept.replace("false", '"no"'), "[" * 100_000):
        only_file(tmp_path).write_text(damaged)
        assert programs(tmp_path) == first
        assert only_file(tmp_path).read_text() == kept


def test_a_cache_that_others_can_write_is_not_believed(tmp_path: Path) -> None:
    first = programs(tmp_path)
    path = only_file(tmp_path)
    rows = json.loads(path.read_text())
    path.write_text(json.dumps({key: [1, 1, 90, *row[3:]] for key, row in rows.items()}))
    assert programs(tmp_path) != first  # so it is read at all
    path.chmod(0o622)
    assert programs(tmp_path) == first


def test_programs_are_made_where_nothing_can_be_cached(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert programs(tmp_path / "file") == programs(tmp_path / "other")


@pytest.mark.parametrize("name", ["luau/members.py", "idioms/basics.luau"])
def test_another_template_or_another_compiler_is_another_cache(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir()
    path.write_text("one")
    before = digest(tmp_path)
    assert digest(tmp_path) == before
    path.write_text("two")
    changed = digest(tmp_path)
    path.rename(path.with_stem("renamed"))
    assert len({before, changed, digest(tmp_path)}) == 3
