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
        "/long": response(b"line\n" * 2**19, "Content-Type: text/plain"),
        "/secret": response(b"\x00 s3cret-value", "Content-Type: image/png"),
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
    *("sub/a-x/package.json", "sub/a-x/y.txt"),  # only a folder below has the document's name
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


@pytest.mark.parametrize("name", ["x.json", "{{x}}.json"])
def test_nothing_is_sent_if_its_response_cannot_be_saved(orgrest: Calls, name: str) -> None:
    orgrest.write("a.http", f"@x = y\nPOST HOST/code\n\nbody\n\n>> {name}\n")
    orgrest.write(
        "a.org",
        "#+begin_src http :results file :file x.json\nPOST HOST/code\n#+end_src\n\n"
        f'#+begin_src http :var x="y"\nPOST HOST/code\n\nbody\n\n>> {name}\n#+end_src\n',
    )
    orgrest.server.requests.clear()
    modes = [(), ("test",), *([("--dry-run",)] if name == "x.json" else [])]
    for mode in modes:
        done = orgrest(*mode, "a.http"), orgrest(*mode, "a.org")
        assert [result.exit_code for result in done] == [1, 1]
        assert "a.http:6:1" in done[0].stderr or mode == ("test",)
        assert done[1].stderr.count("another tool might use") == 2
    assert orgrest.server.requests == []


def test_a_name_that_a_script_sets_is_checked_before_the_response_is_saved(
    orgrest: Calls,
) -> None:
    orgrest.write("a.http", '{{\nexports.name = "x.json";\n}}\nPOST HOST/code\n\n>> {{name}}\n')
    orgrest.server.requests.clear()
    done = orgrest("a.http")
    assert done.exit_code == 1
    assert "another tool might use" in done.stderr
    assert len(orgrest.server.requests) == 1
    assert orgrest.names() == set()


def test_nothing_is_sent_for_a_block_that_needs_one_whose_result_cannot_be_saved(
    orgrest: Calls,
) -> None:
    orgrest.write(
        "a.org",
        "#+begin_src http :var x=log\nGET HOST/code?:x\n#+end_src\n\n"
        "#+NAME: log\n#+begin_src http :results file :file x.json\nPOST HOST/code\n#+end_src\n",
    )
    orgrest.server.requests.clear()
    assert orgrest("a.org").exit_code == 1
    assert orgrest.server.requests == []


def test_checking_a_name_before_sending_leaves_the_random_values_of_a_seed(orgrest: Calls) -> None:
    orgrest.write("a.http", "GET HOST/echo?{{$uuid}}\n")
    assert orgrest("a.http", "--seed", "7").exit_code == 0
    value = orgrest.server.requests[-1].split()[1].partition(b"?")[2].decode()
    orgrest.write("a.http", "GET HOST/code\n\n>> a-{{$uuid}}.txt\n")
    assert orgrest("a.http", "--seed", "7").exit_code == 0
    assert orgrest.names() == {f"a-{value}.txt"}


@pytest.mark.parametrize(
    "name",
    [
        *("a-x.json", "a-sub/x.txt", "a-results/package.json", "a-x.tar.gz", "sub/a-x.json"),
        *("x.png", "a b.CSV", "d/e/f.pdf"),
    ],
)
def test_a_document_writes_data_below_its_folder(orgrest: Calls, name: str) -> None:
    block = '#+begin_src http :results file :file "NAME"\nGET HOST/code\n#+end_src\n'
    orgrest.write("a.org", block.replace("NAME", name))
    for _ in range(2):
        assert orgrest("a.org").exit_code == 0
        assert (orgrest.folder / name).read_bytes() == CODE


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (":output-dir out", "out/a-1.txt"),
        (":output-dir out :file a-x.txt", "out/a-x.txt"),
        (":dir out :file a-x.txt", "out/a-x.txt"),
    ],
)
def test_a_text_result_can_be_written_in_another_folder(
    orgrest: Calls, arguments: str, name: str
) -> None:
    block = f"#+begin_src http :results value file {arguments}\nGET HOST/code\n#+end_src\n"
    orgrest.write("a.org", block)
    (orgrest.folder / "out").mkdir()
    for _ in range(2):
        assert orgrest("a.org").exit_code == 0
        assert (orgrest.folder / name).read_bytes() == CODE
        assert f"[[file:{name}]]" in (orgrest.folder / "a.org").read_text()


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


@pytest.mark.parametrize(
    "arguments",
    ["", ":results silent", ":results file :file a-result.txt", ":expect same", ":expect 404"],
)
def test_a_block_saves_its_response_as_a_request_file_does(orgrest: Calls, arguments: str) -> None:
    block = f"#+begin_src http {arguments}\nGET HOST/code\n\n>> a-b.txt\n#+end_src\n"
    orgrest.write("a.org", f"{block}\n#+RESULTS:\n: old\n")
    for mode in ("--check", "--stdout", "--dry-run"):
        done = orgrest("a.org", mode)
        assert "a-b.txt" not in done.stderr
        assert orgrest.names() == set()
    assert orgrest("a.org").exit_code == 0
    assert (orgrest.folder / "a-b.txt").read_bytes() == CODE
    assert orgrest.names() - {"a-result.txt"} == {"a-b.txt"}
    assert (orgrest.folder / "a-result.txt").exists() == ("a-result" in arguments)


def test_a_block_that_is_called_saves_its_response_for_each_call(orgrest: Calls) -> None:
    block = "#+name: b\n#+begin_src http\nGET HOST/code\n\n>> a-b.txt\n#+end_src\n"
    orgrest.write("a.org", f"{block}\n#+call: b()\n")
    assert orgrest("a.org").exit_code == 0
    assert orgrest.names() == {"a-b.txt", "a-b-1.txt"}


@pytest.mark.parametrize("command", [(), ("test", "--write")])
def test_a_request_that_is_sent_for_another_saves_its_response_each_time(
    orgrest: Calls, command: tuple[str, ...]
) -> None:
    orgrest.write("b.http", "# @name b\nGET HOST/code\n\n>> b-b.txt\n")
    orgrest.write(
        "a.http",
        "# @import ./b.http\n# @name one\n# @ref b\nGET HOST/code\n\n>> a-one.txt\n"
        "### last\n# @ref one\n# @force-ref one\nGET HOST/echo\n",
    )
    written = {"a-one.txt", "a-one-1.txt", "b-b.txt", "b.http"}
    assert orgrest(*command, "a.http", "--name", "last").exit_code == 0
    assert orgrest.names() == written
    assert orgrest(*command, "a.http").exit_code == 0
    assert orgrest.names() == written | {"a-one-2.txt", "a-one-3.txt", "b-b-1.txt"}


def test_no_response_replaces_another_one_of_the_same_request(orgrest: Calls) -> None:
    paths = '@paths = ["/code", "/sh"]'
    request = "GET HOST{{$.paths[*]}}\n\n>> a-x.bin\n>> a-x.bin\n"
    orgrest.write("a.http", f"{paths}\n{request}")
    assert orgrest("a.http").exit_code == 0
    names = ("a-x", "a-x-1", "a-x-2", "a-x-3")
    contents = [(orgrest.folder / f"{name}.bin").read_bytes() for name in names]
    assert contents == [CODE, CODE, b"\x00\x01\x02sh", b"\x00\x01\x02sh"]


def test_a_response_that_cannot_be_saved_is_reported_with_the_path(orgrest: Calls) -> None:
    name = f"a-{'x' * 300}.txt"
    orgrest.write("a.http", f"GET HOST/code\n\n>> a-b.txt\n>> {name}\n?? status == 200\n")
    done = orgrest("a.http")
    assert done.exit_code == 1
    assert "a.http:1: could not save the response: " in done.stderr
    assert f"{name}: could not write the file: File name too long" in done.stderr
    assert orgrest.names() == {"a-b.txt"}


@pytest.mark.parametrize("name", ["a.http", "a.org"])
def test_a_response_is_never_saved_over_the_document_itself(orgrest: Calls, name: str) -> None:
    text = "#+begin_src http\nGET HOST/code\n\n>>! NAME\n#+end_src\n"
    text = text if name == "a.org" else text.split("\n", 1)[1].partition("#+end")[0]
    orgrest.write(name, text.replace("NAME", name))
    before = (orgrest.folder / name).read_text()
    done = orgrest(name, "--allow-write", ".")
    assert done.exit_code == 1
    assert f"{name} is the document itself: choose another file" in done.stderr
    assert (orgrest.folder / name).read_text() == before


def test_a_response_is_never_saved_over_another_document_of_the_run(orgrest: Calls) -> None:
    (orgrest.folder / "lib").mkdir()
    texts = {
        "a.http": "import lib/b.http\nrun lib/b.http\n",
        "lib/b.http": "import c.http\n"
        + "\n###\n".join(
            f"GET HOST/code\n\n>>! {name}\n" for name in ("../a.http", "b.http", "c.http")
        ),
        "lib/c.http": "@a = b\n",
        "a.org": "#+begin_src http :dir lib\nGET HOST/code\n\n>>! ../a.org\n#+end_src\n",
    }
    for name, text in texts.items():
        orgrest.write(name, text)
    before = {name: (orgrest.folder / name).read_text() for name in texts}
    errors = [orgrest(file, "--allow-write", ".").stderr for file in ("a.http", "a.org")]
    for name in ("../a.http", "b.http", "c.http", "../a.org"):
        assert f"{name} is a document of this run: choose another file" in "".join(errors)
    del before["a.org"]
    assert before == {name: (orgrest.folder / name).read_text() for name in before}
    assert "begin_src" in (orgrest.folder / "a.org").read_text()


def test_allow_write_lets_a_document_write_any_file_below_a_folder(orgrest: Calls) -> None:
    orgrest.write("a.http", "GET HOST/code\n\n>>! out/Makefile\n")
    (orgrest.folder / "out").mkdir()
    orgrest.write("out/Makefile", "old")
    assert orgrest("a.http", "--allow-write", "out").exit_code == 0
    assert (orgrest.folder / "out/Makefile").read_bytes() == CODE
    orgrest.write("a.http", "GET HOST/code\n\n>>! Makefile\n")
    assert orgrest("a.http", "--allow-write", "out").exit_code == 1


@pytest.fixture
def long_and_secret(orgrest: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write documents that get a long body, and a binary body with a secret."""
    monkeypatch.setenv("TOKEN", "s3cret-value")
    long, secret = "GET HOST/long\n", "GET HOST/secret\nX-A: {{$processEnv TOKEN}}\n"
    requests = f"#+begin_src http\n{long}#+end_src\n\n#+begin_src http\n{secret}#+end_src\n"
    orgrest.write("a.org", requests)
    orgrest.write("a.http", f"{long}\n###\n{secret}\n>> a-b.png\n")


@pytest.mark.usefixtures("long_and_secret")
@pytest.mark.parametrize(
    "command", [["test", "a.org"], ["test", "a.http"], ["a.org", "--check"], ["a.org", "--stdout"]]
)
def test_a_file_that_is_not_written_is_not_reported_as_written(
    orgrest: Calls, command: list[str]
) -> None:
    done = orgrest(*command)
    assert "larger than 1 MiB" in done.stderr
    assert "contains a secret: results and reports contain ***" in done.stderr
    assert "was written" not in done.stderr
    assert "share" not in done.stderr
    assert done.stderr.count("was not written") == (2 if "--stdout" in command else 0)
    assert orgrest.names() == set()


@pytest.mark.usefixtures("long_and_secret")
def test_stdout_and_diff_report_no_file_that_is_already_there(orgrest: Calls) -> None:
    assert orgrest("a.org").exit_code == 0
    assert orgrest.names() == {"a-1.txt", "a-2.png"}
    (orgrest.folder / "a-2.png").unlink()
    for option in ("--stdout", "--diff"):
        done = orgrest("a.org", option)
        assert done.stderr.count("was not written") == 1
        assert f"the file {orgrest.folder / 'a-2.png'} was not written" in done.stderr


@pytest.mark.usefixtures("long_and_secret")
def test_a_secret_in_a_file_is_masked_or_reported(orgrest: Calls) -> None:
    assert "share" not in orgrest("a.org").stderr
    assert (orgrest.folder / "a-2.png").read_bytes() == b"\x00 ***"
    done = orgrest("a.http")
    assert "a-b.png contains a secret" in done.stderr
    assert "do not share the file" in done.stderr
    assert (orgrest.folder / "a-b.png").read_bytes() == b"\x00 s3cret-value"
    assert "a-b-1.png contains a secret" in orgrest("test", "--write", "a.http").stderr


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
