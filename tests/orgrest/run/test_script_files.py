"""`require` in scripts: files and npm packages beside the document, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest
from components import needs_engine

from orgrest.commands.main import main

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = needs_engine

NPM = Path(__file__).parents[1] / "npm"
needs_packages = pytest.mark.skipif(
    not (NPM / "node_modules").is_dir(),
    reason="npm packages are not installed: npm ci --prefix tests/orgrest/npm",
)


Preview: TypeAlias = "Callable[..., str]"


@pytest.fixture
def preview(capsys: pytest.CaptureFixture[str]) -> Preview:
    """Return a function that makes a dry run of a document in a folder, and returns the output.

    The document's script sets a variable to `value`.
    """

    def run(folder: Path, value: str, script: str = "") -> str:
        document = folder / "a.http"
        document.write_text(
            f"< {{%\n{script}\nrequest.variables.set('x', {value});\n%}}\n"
            "POST https://example.com\n\nvalue={{x}}\n"
        )
        with pytest.raises(SystemExit):
            main(["--dry-run", "--allow-read", str(NPM), str(document)])
        captured = capsys.readouterr()
        return captured.out + captured.err

    return run


def write(folder: Path, **files: str) -> Path:
    """Write scripts, named with `__` for `/`, and return the folder."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@needs_packages
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("require('lodash').camelCase('one two')", "oneTwo"),
        ("require('lodash/snakeCase')('one two')", "one_two"),
        ("require('moment')('2026-01-31').add(1, 'day').format('YYYY-MM-DD')", "2026-02-01"),
        ("require('crypto-js').SHA256('a').toString().slice(0, 8)", "ca978112"),
        (
            "require('crypto-js').AES.encrypt('a', 'k').toString().slice(0, 10)",
            "U2FsdGVkX1",
        ),
        ("require('tv4').validate({a: 1}, {required: ['b']})", "false"),
        ("new (require('ajv'))().validate({required: ['b']}, {a: 1})", "false"),
    ],
)
def test_the_packages_that_scripts_use_most_run_in_the_sandbox(
    preview: Preview, tmp_path: Path, value: str, expected: str
) -> None:
    (tmp_path / "node_modules").symlink_to(NPM / "node_modules")
    assert f"value={expected}\n" in preview(tmp_path, value)


def test_files_require_others_relative_to_themselves(preview: Preview, tmp_path: Path) -> None:
    write(
        tmp_path,
        lib="exports.twice = (n) => require('./parts/add')(n, n);",
        parts__add="const {sign} = require('./data.json');"
        "module.exports = (a, b) => sign * (a + b)",
    )
    (tmp_path / "parts/data.json").write_text('{"sign": -1}')
    assert "value=-8\n" in preview(tmp_path, "require('./lib').twice(4)")


def test_files_that_require_each_other_end(preview: Preview, tmp_path: Path) -> None:
    write(
        tmp_path,
        a="exports.one = 1; exports.two = require('./b').two;",
        b="exports.two = require('./a').one + 1;",
    )
    assert "value=2\n" in preview(tmp_path, "require('./a').two")


def test_a_package_is_found_in_a_parent_folder_of_the_repository(
    preview: Preview, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path, node_modules__pack__main="module.exports = 'found';", api__x="")
    (tmp_path / "node_modules/pack/package.json").write_text('{"main": "main"}')
    assert "value=found\n" in preview(tmp_path / "api", "require('pack')")


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "./link", "./.git/hidden"])
def test_no_file_is_required_that_the_document_may_not_read(
    preview: Preview, tmp_path: Path, name: str
) -> None:
    write(tmp_path, secret="module.exports = 'secret';", api__x="")
    (tmp_path / "api/link.js").symlink_to(tmp_path / "secret.js")
    reason = preview(tmp_path / "api", f"require('{name}')")
    assert f'require("{name}"): no such file or package' in reason


def test_a_name_that_is_computed_is_not_found(preview: Preview, tmp_path: Path) -> None:
    write(tmp_path, lib="module.exports = 1;")
    assert "no such file or package" in preview(tmp_path, "require('./' + 'lib')")


def test_a_missing_package_is_an_error_that_says_how_to_get_it(
    preview: Preview, tmp_path: Path
) -> None:
    assert "npm install left-pad" in preview(tmp_path, "require('left-pad')")


def test_a_package_cannot_replace_what_needs_the_machine_or_the_sandboxes_own(
    preview: Preview,
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        node_modules__fs__index="module.exports = 'mine';",
        node_modules__uuid__index="module.exports = 'mine';",
    )
    assert "scripts cannot access files" in preview(tmp_path, "require('fs')")
    assert "value=function\n" in preview(tmp_path, "typeof require('uuid').v4")


def test_scripts_learn_nothing_about_the_folders_of_the_machine(
    preview: Preview, tmp_path: Path
) -> None:
    write(tmp_path, lib="module.exports = `${__filename} ${__dirname}`;")
    assert "value=lib.js .\n" in preview(tmp_path, "require('./lib')")


def test_files_without_end_are_an_error(preview: Preview, tmp_path: Path) -> None:
    for number in range(2001):
        write(tmp_path, **{f"f{number}": f"require('./f{number + 1}')"})
    assert "more than 2000 files or 8 MiB" in preview(tmp_path, "require('./f0')")


def test_a_file_that_throws_throws_each_time(preview: Preview, tmp_path: Path) -> None:
    write(tmp_path, lib="throw new Error('not today');")
    script = "try { require('./lib') } catch (error) {}"
    assert "not today" in preview(tmp_path, "require('./lib')", script)


def test_a_file_that_is_not_utf_8_is_named(preview: Preview, tmp_path: Path) -> None:
    (tmp_path / "lib.js").write_bytes(b"exports.a = '\xff';")
    assert "lib.js is not UTF-8 (byte 13)" in preview(tmp_path, "require('./lib')")
