"""What documents may write: data below their folder, but never over files that others wrote."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from servers import RawServer, by_path, echo, response

from orgrest.commands.main import program

if TYPE_CHECKING:
    from collections.abc import Iterator

CODE = b"print('pwned')\n"


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    answers = {
        "/code": response(CODE, "Content-Type: text/plain"),
        "/sh": response(b"\x00\x01\x02sh", "Content-Type: application/x-sh"),
        "/echo": echo,
    }
    with RawServer(by_path(answers)) as running:
        yield running


class Calls:
    """Runs the command `orgrest` in a folder, with a separate folder for its state."""

    def __init__(self, folder: Path, server: RawServer) -> None:
        self.folder, self.server = folder / "work", server
        self.folder.mkdir()
        self._environment = {"XDG_STATE_HOME": str(folder / "state")}

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text.replace("HOST", self.server.url))

    def __call__(self, *arguments: str) -> Result:
        with contextlib.chdir(self.folder):
            return CliRunner().invoke(program, arguments, env=self._environment)

    def names(self) -> set[str]:
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return {file.relative_to(self.folder).as_posix() for file in files} - {"a.org", "a.http"}


@pytest.fixture
def orgrest(tmp_path: Path, server: RawServer) -> Calls:
    return Calls(tmp_path, server)


NEVER = [
    *("conftest.py", "Makefile", "x", "x.sh", "x.org", "x.http", ".env", ".git/config", ".x.json"),
    *("../x.json", "/tmp/orgrest-never.json", "package.json", "tsconfig.json", "pom.xml", "x.js"),
    *("requirements.txt", "CMakeLists.txt", "http-client.env.json", "x.yml", "x.el", "setup.cfg"),
    *("lefthook.json", "nodemon.json", "node_modules/x/package.json", "node_modules/x/y.txt"),
    *(
        "requests-9.9.tar.gz",
        "x.json",
        "sub/x.txt",
        "index.html",
        "logo.svg",
        "b-x.json",
        "ax.json",
    ),
    *("a-x.sh", "a-x.py", "a-results/x.el"),  # with the name of the document, too
    *(".x.png", "sub/.x/y.pdf", "a-results/.x.json"),  # only the dot is wrong
    *("sub/package.json", "sub/.x/y.json", "PACKAGE.JSON", "x.json.py", "README.md", "x.so"),
]


@pytest.mark.parametrize("name", NEVER)
def test_a_document_never_writes_what_a_tool_would_run_or_obey(orgrest: Calls, name: str) -> None:
    block = "#+begin_src http :results file :file NAME\nGET HOST/code\n#+end_src\n"
    orgrest.write("a.org", block.replace("NAME", name))
    orgrest.write("a.http", f"GET HOST/code\n\n>>! {name}\n")
    for file in ("a.org", "a.http"):
        done = orgrest(file)
        assert done.exit_code == 1, done.stderr
        assert "--allow-write" in done.stderr
        assert name in done.stderr
    assert orgrest.names() == set()
    assert not Path("/tmp/orgrest-never.json").exists()


@pytest.mark.parametrize(
    "name",
    [
        *("a-x.json", "a-sub/x.txt", "a-results/package.json", "a-x.tar.gz"),
        *("x.png", "a b.CSV", "d/e/f.pdf"),
    ],
)
def test_a_document_writes_data_below_its_folder(orgrest: Calls, name: str) -> None:
    block = '#+begin_src http :results file :file "NAME"\nGET HOST/code\n#+end_src\n'
    orgrest.write("a.org", block.replace("NAME", name))
    for _ in range(2):
        assert orgrest("a.org").exit_code == 0
        assert (orgrest.folder / name).read_bytes() == CODE


def test_a_document_never_writes_over_a_file_that_orgrest_did_not_write(orgrest: Calls) -> None:
    block = "#+begin_src http :results file :file a-mine.txt\nGET HOST/code\n#+end_src\n"
    orgrest.write("a.org", block)
    orgrest.write("a.http", "GET HOST/code\n\n>>! a-mine.txt\n")
    orgrest.write("a-mine.txt", "mine")
    for file in ("a.org", "a.http"):
        done = orgrest(file)
        assert done.exit_code == 1
        assert "a-mine.txt already exists and was not written by orgrest" in done.stderr
    assert (orgrest.folder / "a-mine.txt").read_text() == "mine"


def test_a_file_that_orgrest_wrote_is_written_again_until_somebody_edits_it(orgrest: Calls) -> None:
    orgrest.write("a.http", "GET HOST/code\n\n>>! a-b.txt\n")
    for _ in range(2):
        assert orgrest("a.http").exit_code == 0
    orgrest.write("a-b.txt", "edited")
    done = orgrest("a.http")
    assert done.exit_code == 1
    assert "a-b.txt already exists" in done.stderr
    assert (orgrest.folder / "a-b.txt").read_text() == "edited"


def test_a_file_that_the_documents_own_result_names_is_written_again(orgrest: Calls) -> None:
    block = "#+begin_src http :results file :file b.txt\nGET HOST/code\n#+end_src\n"
    orgrest.write("a.org", f"{block}\n#+RESULTS:\n[[file:b.txt]]\n")
    orgrest.write("b.txt", "of a run before there was a memory")
    assert orgrest("a.org").exit_code == 0
    assert (orgrest.folder / "b.txt").read_bytes() == CODE


def test_configuration_is_not_overwritten_because_a_strangers_document_links_to_it(
    orgrest: Calls,
) -> None:
    block = "#+begin_src http :results file :file package.json\nGET HOST/code\n#+end_src\n"
    orgrest.write("a.org", f"{block}\n#+RESULTS:\n[[file:package.json]]\n")
    orgrest.write("package.json", "{}")
    assert orgrest("a.org").exit_code == 1
    assert (orgrest.folder / "package.json").read_text() == "{}"


def test_a_file_that_the_document_does_not_name_bears_its_name(orgrest: Calls) -> None:
    orgrest.write(
        "a.org", "#+name: package\n#+begin_src http :results file\nGET HOST/code\n#+end_src\n"
    )
    assert orgrest("a.org").exit_code == 0
    assert orgrest.names() == {"a-package.txt"}


def test_allow_write_lets_a_document_write_any_file_below_a_folder(orgrest: Calls) -> None:
    orgrest.write("a.http", "GET HOST/code\n\n>>! out/Makefile\n")
    (orgrest.folder / "out").mkdir()
    orgrest.write("out/Makefile", "old")
    assert orgrest("a.http", "--allow-write", "out").exit_code == 0
    assert (orgrest.folder / "out/Makefile").read_bytes() == CODE
    orgrest.write("a.http", "GET HOST/code\n\n>>! Makefile\n")
    assert orgrest("a.http", "--allow-write", "out").exit_code == 1


def test_a_server_does_not_choose_an_ending_that_is_run(orgrest: Calls) -> None:
    orgrest.write("a.org", "#+begin_src http\nGET HOST/sh\n#+end_src\n")
    assert orgrest("a.org").exit_code == 0
    assert orgrest.names() == {"a-1.bin"}


def test_what_is_remembered_does_not_grow_endlessly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from orgrest.run import writable_files

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(writable_files, "_MOST", 2000)
    for number in range(60):
        writable_files.write(tmp_path / f"{number}.json", b"x")
    assert (tmp_path / "orgrest/written").stat().st_size <= 2200
    folder = tmp_path.resolve()
    document = folder / "a.org"
    writable_files.check(folder / "59.json", "59.json", document, ())
    from orgrest.run.outcomes import EvaluationError

    with pytest.raises(EvaluationError, match="with this name"):
        writable_files.check(folder / "0.json", "0.json", document, ())
